// SPDX-License-Identifier: BSD-2-Clause
// An HTTP server of two workers (cluster) that answers with the sum of what it was sent: server.js ADDR PORT
'use strict';
const cluster = require('node:cluster');
const crypto = require('node:crypto');
const http = require('node:http');

if (cluster.isPrimary) {
    cluster.fork();
    cluster.fork();
    process.on('SIGTERM', () => process.exit(0));
} else {
    http.createServer((request, response) => {
        const hash = crypto.createHash('sha256');
        request.on('data', (chunk) => hash.update(chunk));
        request.on('end', () => response.end(hash.digest('hex')));
    }).listen(Number(process.argv[3]), process.argv[2]);
}
