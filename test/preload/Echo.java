/* SPDX-License-Identifier: BSD-2-Clause */

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;

/** Sockets of Java: java Echo.java server PORT | client HOST PORT COUNT. The server echoes on PORT by a Selector, and on
 * PORT + 1 by a thread a connection; the client has COUNT connections with each at once, and checks what comes back. */
public class Echo {
    static final int BYTES = 300_000;

    static void bySelector(int port) throws IOException {
        Selector selector = Selector.open();
        ServerSocketChannel listener = ServerSocketChannel.open().bind(new InetSocketAddress(port));
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
        System.out.println("up");
        while (true) {
            selector.select();
            var keys = selector.selectedKeys().iterator();
            while (keys.hasNext()) {
                SelectionKey key = keys.next();
                keys.remove();
                if (key.isAcceptable()) {
                    SocketChannel channel = listener.accept();
                    channel.configureBlocking(false);
                    channel.register(selector, SelectionKey.OP_READ, ByteBuffer.allocate(65536));
                } else {
                    echo(key);
                }
            }
        }
    }

    /** What is held goes out; what there is room for comes in. */
    static void echo(SelectionKey key) throws IOException {
        SocketChannel channel = (SocketChannel) key.channel();
        ByteBuffer held = (ByteBuffer) key.attachment();
        if (key.isReadable() && channel.read(held) < 0) {
            channel.close();
            return;
        }
        held.flip();
        channel.write(held);
        held.compact();
        int ops = held.position() > 0 ? SelectionKey.OP_WRITE : 0;
        key.interestOps(ops | (held.hasRemaining() ? SelectionKey.OP_READ : 0));
    }

    static void byThreads(int port) {
        try (ServerSocket listener = new ServerSocket(port)) {
            while (true) {
                Socket socket = listener.accept();
                new Thread(() -> {
                    try (socket; InputStream in = socket.getInputStream(); OutputStream out = socket.getOutputStream()) {
                        in.transferTo(out);
                    } catch (IOException e) {
                        System.err.println(e);
                    }
                }).start();
            }
        } catch (IOException e) {
            System.err.println(e);
            System.exit(1);
        }
    }

    static boolean talk(String host, int port, int seed) throws IOException, InterruptedException {
        byte[] data = new byte[BYTES], back = new byte[BYTES];
        new Random(seed).nextBytes(data);
        try (Socket socket = new Socket(host, port)) {
            socket.setSoTimeout(20_000);
            Thread writer = new Thread(() -> {
                try {
                    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                    for (int at = 0; at < BYTES; at += 7000)
                        out.write(data, at, Math.min(7000, BYTES - at));
                } catch (IOException e) {
                    System.err.println(e);
                }
            });
            writer.start();
            new DataInputStream(socket.getInputStream()).readFully(back);
            writer.join();
        }
        return Arrays.equals(data, back);
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("server")) {
            int port = Integer.parseInt(args[1]);
            Thread threads = new Thread(() -> byThreads(port + 1));
            threads.start();
            bySelector(port);
            return;
        }
        int port = Integer.parseInt(args[2]), count = Integer.parseInt(args[3]);
        ExecutorService pool = Executors.newFixedThreadPool(2 * count);
        List<Future<Boolean>> talks = new ArrayList<>();
        for (int i = 0; i < 2 * count; i++) {
            int seed = i;
            talks.add(pool.submit(() -> talk(args[1], port + seed % 2, seed)));
        }
        for (Future<Boolean> talk : talks)
            if (!talk.get())
                throw new IOException("other bytes came back");
        pool.shutdown();
        System.out.println("all " + 2 * count);
    }
}
