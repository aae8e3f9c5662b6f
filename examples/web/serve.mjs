// Serves the page with the two HTTP headers that its workers need. Run `npm run web`, or
// `node examples/web/serve.mjs --port 8080`. The page is built again every time it is loaded.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPage } from './build.mjs';

const { values } = parseArgs({ options: { port: { type: 'string', default: '8080' } } });
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.map': 'application/json' };
const HEADERS = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

const folder = await mkdtemp(join(tmpdir(), 'quadrille-web-'));
const server = createServer(async ({ url }, response) => {
  const { pathname } = new URL(url, 'http://localhost');
  const name = pathname === '/' ? 'index.html' : pathname.slice(1);
  try {
    if (name === 'index.html') await buildPage(folder);
    // Keeps only letters, digits, `_`, `.` and `-` of the requested name. Without slashes, the name cannot lead to a
    // file outside the folder.
    const content = await readFile(join(folder, name.replaceAll(/[^\w.-]/g, '')));
    response.writeHead(200, { ...HEADERS, 'Content-Type': `${TYPES[extname(name)]}; charset=utf-8` }).end(content);
  } catch (error) {
    const isMissing = error.code === 'ENOENT';
    if (!isMissing) console.error(error);
    response
      .writeHead(isMissing ? 404 : 500, { 'Content-Type': 'text/plain' })
      .end(isMissing ? 'There is no such file.' : error.message);
  }
});
server.on('error', ({ message }) => {
  console.error(`${message}. Choose another port: npm run web -- --port 8081`);
  process.exit(1);
});
server.listen(Number(values.port), 'localhost', () => console.log(`http://localhost:${server.address().port}/`));
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    server.close();
    await rm(folder, { recursive: true });
    process.exit(0);
  });
}
