# SPDX-License-Identifier: BSD-2-Clause
"""A server that sends back what it gets, by asyncio or by threads, and a client that checks it.

    echo.py asyncio|threads PORT         serves until it is ended
    echo.py client ADDR PORT COUNT       COUNT connections at once, each with messages of many sizes
"""
import asyncio, os, signal, socket, sys, threading


async def answer(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve_asyncio(port):
    server = await asyncio.start_server(answer, '0.0.0.0', port)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.close)
    try:
        await server.serve_forever()
    except asyncio.CancelledError:
        pass


def serve_threads(port):
    def answer(s):
        with s:
            while data := s.recv(65536):
                s.sendall(data)
    with socket.create_server(('0.0.0.0', port)) as listener:
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


async def client(addr, port, count):
    async def one(number):
        reader, writer = await asyncio.open_connection(addr, port)
        for length in (1, 2, 100, 4095, 4096, 65537, 300000):
            data = os.urandom(length)
            writer.write(data)
            got = await reader.readexactly(length)
            assert got == data, (number, length)
        writer.write_eof()
        assert await reader.read() == b''
        writer.close()
    await asyncio.wait_for(asyncio.gather(*(one(i) for i in range(count))), 50)


if sys.argv[1] == 'asyncio':
    asyncio.run(serve_asyncio(int(sys.argv[2])))
elif sys.argv[1] == 'threads':
    serve_threads(int(sys.argv[2]))
else:
    asyncio.run(client(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
