import { cancelRun, listRuns, redisQueue, serveQueue } from '../../queues/index.ts';
import { arrow, type Row, refuses } from './misuse-support.ts';

const place = { url: 'redis://127.0.0.1:1', folder: '.' };
const { signal } = new AbortController();
const modules = {};
const rows: readonly Row[] = [
  ['redisQueue, nothing', () => redisQueue(undefined as never), 'argument/type', 'url'],
  ['redisQueue, no folder', () => redisQueue({ url: place.url } as never), 'argument/type', 'folder'],
  ['redisQueue, a number as folder', () => redisQueue({ ...place, folder: 1 as never }), 'options/value', 'folder'],
  ['redisQueue, a short lock', () => redisQueue({ ...place, lock: 5 }), 'argument/type', 'lock'],
  ['redisQueue, an unknown option', () => redisQueue({ ...place, locks: 5000 } as never), 'options/unknown', 'locks'],
  ['redisQueue, no patience', () => redisQueue({ ...place, patience: 0 }), 'argument/type', 'patience'],
  ['redisQueue, a name with a colon', () => redisQueue({ ...place, queue: 'a:b' }), 'graph/remote-queue-name', 'a:b'],
  ['serveQueue, no modules', () => serveQueue({ ...place, signal } as never), 'argument/type', 'modules'],
  ['serveQueue, no signal', () => serveQueue({ ...place, modules } as never), 'argument/type', 'signal'],
  ['serveQueue, no lanes', () => serveQueue({ ...place, modules, signal, lanes: 0 }), 'argument/type', 'lanes'],
  [
    'serveQueue, a text for onNews',
    () => serveQueue({ ...place, modules, signal, onNews: 'log' as never }),
    'options/value',
    'onNews',
  ],
  ['listRuns, nothing', () => listRuns(undefined as never), 'argument/type', 'url'],
  ['listRuns, a function as url', () => listRuns({ url: arrow as never }), 'options/value', 'url'],
  ['listRuns, another protocol', () => listRuns({ url: 'http://host' }), 'graph/remote-url', 'http://host'],
  ['cancelRun, no id', () => cancelRun(place, undefined as never), 'argument/type', 'id'],
  ['cancelRun, an id with a colon', () => cancelRun({ url: place.url }, 'a:b'), 'graph/bad-remote', 'a:b'],
];

refuses(rows);
