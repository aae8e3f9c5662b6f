// A service worker that adds the two headers which isolate the page, so that its workers may share memory, on hosts that do
// not send them.
const HEADERS = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const { request } = event;
  if (new URL(request.url).origin === location.origin) event.respondWith(isolated(request));
});

async function isolated(request) {
  const response = await fetch(request);
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  const { body, status, statusText } = response;
  return new Response([204, 205, 304].includes(status) ? null : body, { status, statusText, headers });
}
