import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a page is served. */
export interface PageOptions {
  /** Its script, by the path of a file of the site. */
  readonly script: string;
  /** Whether it has the headers that isolate it from other origins; true by default. */
  readonly isolated?: boolean;
  /** Its Content-Security-Policy. */
  readonly policy?: string;
}

/** A small web server on this machine. */
export interface Site {
  /** The address of a page. */
  page(options: PageOptions): string;
  close(): Promise<void>;
}

const ISOLATION = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

/** Serves scripts by their paths, and pages that load them. */
export async function serve(scripts: Readonly<Record<string, string>>): Promise<Site> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    if (searchParams.get('isolated') !== 'false') response.setHeaders(new Headers(ISOLATION));
    const policy = searchParams.get('policy');
    if (policy !== null) response.setHeader('Content-Security-Policy', policy);
    const script = scripts[pathname];
    if (pathname === '/page') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(
        `<!doctype html><link rel="icon" href="data:,"><script type="module" src="${searchParams.get('script')}"></script>`,
      );
    } else if (script !== undefined) {
      response.setHeader('Content-Type', 'text/javascript; charset=utf-8');
      response.end(script);
    } else {
      response.statusCode = 404;
      response.end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    page: ({ script, isolated = true, policy }) => {
      const address = new URL(`http://localhost:${port}/page`);
      address.searchParams.set('script', script);
      if (!isolated) address.searchParams.set('isolated', 'false');
      if (policy !== undefined) address.searchParams.set('policy', policy);
      return address.href;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
