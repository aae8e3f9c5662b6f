// Computes points and draws them with plain WebGPU, directly from their columns. Nothing is copied, and the host never
// learns the number of points.
//
//     node --import tsx examples/draw-from-column.ts
//
// The context works on the program's own device. `lend` gives access to the GPU buffers of two columns, which become
// vertex buffers. `lend` also returns the buffer with the number of rows, in the form that drawIndirect reads. The
// context and the program use the same queue. So the device computes the points before it draws them, and the host need
// not wait in between.

import { bool, copyIf, deviceDescriptor, f32, fn, map, open, sequence, u32 } from 'quadrille';
import { openTestGpu, testAdapter } from 'quadrille/backends/webgpu-node';

const WIDTH = 32;
const HEIGHT = 16;

// In a browser, use navigator.gpu instead.
const gpu = await openTestGpu();
const adapter = await gpu.requestAdapter({ forceFallbackAdapter: testAdapter() === 'software' });
if (adapter === null) throw new Error('There is no adapter here.');
const device = await adapter.requestDevice(deviceDescriptor(adapter));
const context = await open({ device });

/**
 * The column and row of a cell. A cell is drawn if its column and row have no bit in common, so the picture is a
 * Sierpiński triangle.
 */
const cell = fn('cell', { i: u32 }, { x: u32, y: u32 }, ({ i }) => ({ x: i.rem(WIDTH), y: i.div(WIDTH) }));
const isDrawn = fn('isDrawn', { x: u32, y: u32 }, bool, ({ x, y }) => x.and(y).eq(0));
/** The centre of a cell's pixel, in clip space. */
const middle = fn('middle', { x: u32, y: u32 }, { x: f32, y: f32 }, ({ x, y }) => ({
  x: f32(x)
    .add(0.5)
    .div(WIDTH / 2)
    .sub(1),
  y: f32(1).sub(
    f32(y)
      .add(0.5)
      .div(HEIGHT / 2),
  ),
}));
const points = context.scope(() =>
  context.materialize(map(middle, copyIf(map(cell, { i: sequence(WIDTH * HEIGHT) }), isDrawn))),
);
const x = context.lend(points.x);
const y = context.lend(points.y);
if (typeof x.count === 'number') throw new Error('Here the device alone knows how many points there are.');

const module = device.createShaderModule({
  code: `
@vertex fn place(@location(0) x: f32, @location(1) y: f32) -> @builtin(position) vec4f { return vec4f(x, y, 0, 1); }
@fragment fn paint() -> @location(0) vec4f { return vec4f(1); }`,
});
const vertexBuffers = [0, 1].map((shaderLocation) => ({
  arrayStride: 4,
  attributes: [{ shaderLocation, offset: 0, format: 'float32' as const }],
}));
const pipeline = device.createRenderPipeline({
  layout: 'auto',
  vertex: { module, buffers: vertexBuffers },
  fragment: { module, targets: [{ format: 'r8unorm' }] },
  primitive: { topology: 'point-list' },
});
// A texture to draw on (usage RENDER_ATTACHMENT and COPY_SRC), and a buffer to read the picture from (usage MAP_READ
// and COPY_DST).
const texture = device.createTexture({ size: [WIDTH, HEIGHT], format: 'r8unorm', usage: 0x11 });
const BYTES_PER_ROW = 256;
const picture = device.createBuffer({ size: BYTES_PER_ROW * HEIGHT, usage: 0x9 });

const encoder = device.createCommandEncoder();
const view = texture.createView();
const pass = encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: 'clear', storeOp: 'store' }] });
pass.setPipeline(pipeline);
pass.setVertexBuffer(0, x.buffer, x.offset, x.bytes);
pass.setVertexBuffer(1, y.buffer, y.offset, y.bytes);
pass.drawIndirect(x.count.buffer, x.count.offset);
pass.end();
encoder.copyTextureToBuffer({ texture }, { buffer: picture, bytesPerRow: BYTES_PER_ROW }, [WIDTH, HEIGHT]);
device.queue.submit([encoder.finish()]);
x.release();
y.release();
await context.close();

// Closing the context does not destroy the program's own device.
await picture.mapAsync(1);
const pixels = new Uint8Array(picture.getMappedRange());
for (let row = 0; row < HEIGHT; row++) {
  const line = pixels.subarray(row * BYTES_PER_ROW, row * BYTES_PER_ROW + WIDTH);
  console.log(Array.from(line, (white) => (white > 0 ? '#' : '.')).join(''));
}
device.destroy();

// ################################
// #.#.#.#.#.#.#.#.#.#.#.#.#.#.#.#.
// ##..##..##..##..##..##..##..##..
// #...#...#...#...#...#...#...#...
// ####....####....####....####....
// #.#.....#.#.....#.#.....#.#.....
// ##......##......##......##......
// #.......#.......#.......#.......
// ########........########........
// #.#.#.#.........#.#.#.#.........
// ##..##..........##..##..........
// #...#...........#...#...........
// ####............####............
// #.#.............#.#.............
// ##..............##..............
// #...............#...............
