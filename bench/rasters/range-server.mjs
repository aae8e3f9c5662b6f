import { open } from 'node:fs/promises';
import { createServer } from 'node:http';

// Serves ranges of a file, each request after some milliseconds: node range-server.mjs FILE DELAY. Tells its parent the port
// and, for each message, what it has sent since the last one.

const [file, delay] = process.argv.slice(2);
const handle = await open(file);
const { size } = await handle.stat();
let sent = { requests: 0, bytes: 0, most: 0 };
let under = 0;

const server = createServer((request, response) => {
  sent.requests++;
  sent.most = Math.max(sent.most, ++under);
  response.on('close', () => under--);
  setTimeout(async () => {
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [0, 0, size - 1];
    const [start, end] = [Number(first), Math.min(Number(last) + 1, size)];
    const { buffer } = await handle.read(Buffer.allocUnsafe(end - start), 0, end - start, start);
    sent.bytes += end - start;
    const range = `bytes ${start}-${end - 1}/${size}`;
    response.writeHead(206, { 'content-length': end - start, 'content-range': range, etag: '"1"' }).end(buffer);
  }, Number(delay));
});
process.on('message', () => {
  process.send(sent);
  sent = { requests: 0, bytes: 0, most: 0 };
});
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
