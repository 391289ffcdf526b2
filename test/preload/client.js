// SPDX-License-Identifier: BSD-2-Clause
// Sends bodies of many sizes, 20 at a time, and checks the sums that come back: client.js ADDR PORT
'use strict';
const crypto = require('node:crypto');
const http = require('node:http');

const agent = new http.Agent({ keepAlive: true, maxSockets: 20 });

function post(bytes) {
    const body = crypto.randomBytes(bytes);
    const sum = crypto.createHash('sha256').update(body).digest('hex');
    return new Promise((resolve, reject) => {
        const request = http.request({
            host: process.argv[2], port: Number(process.argv[3]), method: 'POST', agent,
        }, (response) => {
            let text = '';
            response.on('data', (chunk) => { text += chunk; });
            response.on('end', () => (text === sum ? resolve() : reject(new Error(`${bytes} bytes: ${text}`))));
        });
        request.on('error', reject);
        request.end(body);
    });
}

const sizes = [];
for (let i = 0; i < 200; i++)
    sizes.push([1, 1000, 70000, 1000000][i % 4] + i);
setTimeout(() => { console.error('it takes too long'); process.exit(1); }, 50000).unref();
Promise.all(sizes.map(post)).then(() => { agent.destroy(); }, (error) => {
    console.error(error);
    process.exit(1);
});
