import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hasGpuNode, vulkanDrivers } from '../../../backends/webgpu-node/vulkan-drivers.ts';

let folder = '';
const path = (...parts: readonly string[]): string => join(folder, ...parts);
/** The environment of a machine without drivers. Tests add some drivers to it. */
const bare = () => ({
  HOME: path('home'),
  XDG_CONFIG_DIRS: path('xdg'),
  XDG_DATA_DIRS: `${path('local')}:${path('share')}`,
});
const system = () => [path('etc')];

async function manifest(file: string, library: unknown = 'libGLX_some.so.0'): Promise<string> {
  await mkdir(dirname(path(file)), { recursive: true });
  await writeFile(path(file), JSON.stringify({ file_format_version: '1.0.1', ICD: { library_path: library } }));
  return path(file);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-vulkan-'));
  await writeFile(path('libdriver.so'), '');
});
afterAll(() => rm(folder, { recursive: true }));

test('no drivers are found where none are installed', () => {
  expect(vulkanDrivers(bare(), system())).toEqual([]);
  expect(vulkanDrivers({ ...bare(), VK_DRIVER_FILES: '', VK_ADD_DRIVER_FILES: '' }, system())).toEqual([]);
});

test.each([
  ['home/.config', {}],
  ['xdg', {}],
  ['etc', {}],
  ['home/.local/share', {}],
  ['local', {}],
  ['share', {}],
  ['config', { XDG_CONFIG_HOME: 'config' }],
  ['data', { XDG_DATA_HOME: 'data' }],
])('drivers are found under %s', async (place, variables) => {
  const environment = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, path(value)]));
  const found = await manifest(`${place}/vulkan/icd.d/some_icd.json`);
  await writeFile(path(place, 'vulkan', 'icd.d', 'README'), 'no manifest');
  expect(vulkanDrivers({ ...bare(), ...environment }, system())).toEqual([found]);
  // Drivers in VK_DRIVER_FILES replace all others; drivers in VK_ADD_DRIVER_FILES are added to the others.
  const other = await manifest('other.json');
  expect(vulkanDrivers({ ...bare(), ...environment, VK_ADD_DRIVER_FILES: other }, system())).toEqual([other, found]);
  expect(vulkanDrivers({ ...bare(), ...environment, VK_ICD_FILENAMES: other }, system())).toEqual([other]);
  await rm(found);
});

test('VK_DRIVER_FILES takes precedence over VK_ICD_FILENAMES and can list files and folders', async () => {
  const [a, b, c] = [await manifest('a.json'), await manifest('many/b.json'), await manifest('c.json')];
  const lists = { VK_DRIVER_FILES: `${a}:${path('many')}:${path('none.json')}`, VK_ICD_FILENAMES: c };
  expect(vulkanDrivers({ ...bare(), ...lists }, system())).toEqual([a, b]);
});

test.each<[string, unknown, boolean]>([
  ['that the linker finds', 'libvulkan_some.so', true],
  ['beside the manifest', './libdriver.so', true],
  ['that does not exist', './nodriver.so', false],
  ['that does not exist, by absolute path', '/no/such/driver.so', false],
  ['whose path is not a string', 7, false],
])('a driver manifest with a library %s', async (_, library, counts) => {
  const file = await manifest('library.json', library);
  expect(vulkanDrivers({ ...bare(), VK_DRIVER_FILES: file }, system())).toEqual(counts ? [file] : []);
});

test('a manifest that is not JSON is ignored', async () => {
  await writeFile(path('broken.json'), '{');
  expect(vulkanDrivers({ ...bare(), VK_DRIVER_FILES: path('broken.json') }, system())).toEqual([]);
});

test.each([
  ['dri/renderD128', true],
  ['nvidia0', true],
  ['nvidiactl', true],
  ['dxg', true],
  ['mali0', true],
  ['dri/card0', false],
  ['null', false],
])('a GPU is told by its device node: %s', async (node, isGpu) => {
  const devices = path(`dev-${node.replace('/', '-')}`);
  expect(hasGpuNode(devices)).toBe(false);
  await mkdir(dirname(join(devices, node)), { recursive: true });
  await writeFile(join(devices, node), '');
  expect(hasGpuNode(devices)).toBe(isGpu);
});
