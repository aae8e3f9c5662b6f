import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Options of a served page. */
export interface PageOptions {
  /** The path of the page's script on the site. */
  readonly script: string;
  /** Whether the script is a module; true by default. */
  readonly module?: boolean;
  /** Whether the page is served with the HTTP headers for cross-origin isolation; true by default. */
  readonly isolated?: boolean;
  /** The page's Content-Security-Policy; none by default. */
  readonly policy?: string;
}

/** A small web server on this machine. */
export interface Site {
  /** The URL of a page with these options. */
  page(options: PageOptions): string;
  close(): Promise<void>;
}

/** The HTTP headers for cross-origin isolation. */
export const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
} as const;

/** Serves scripts by path, and pages that load them. */
export async function serve(scripts: Readonly<Record<string, string>>): Promise<Site> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
    if (searchParams.get('isolated') !== 'false') response.setHeaders(new Headers(ISOLATION));
    const policy = searchParams.get('policy');
    if (policy !== null) response.setHeader('Content-Security-Policy', policy);
    const [type, body] =
      pathname === '/page' ? (['html', html(searchParams)] as const) : ['javascript', scripts[pathname]];
    response.statusCode = body === undefined ? 404 : 200;
    response.setHeader('Content-Type', `text/${type}; charset=utf-8`);
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    page: (options) => {
      const address = new URL(`http://localhost:${port}/page`);
      for (const [name, value] of Object.entries(options)) address.searchParams.set(name, `${value}`);
      return address.href;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function html(options: URLSearchParams): string {
  const kind = options.get('module') === 'false' ? 'defer' : 'type="module"';
  return `<!doctype html><link rel="icon" href="data:,"><script ${kind} src="${options.get('script')}"></script>`;
}
