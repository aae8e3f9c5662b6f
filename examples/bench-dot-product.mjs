// A custom experiment: the dot product, as one reduction over a view. Run the experiment with
//
//     quadrille bench --experiment bench-dot-product.mjs --only dot --types u32,f32
//
// The function receives the library as its argument, so the file needs no imports and can be in any folder.
export default ({ fn, map, plus, reduce, f32, u32 }) => {
  const times = {
    u32: fn('times', { a: u32, b: u32 }, u32, ({ a, b }) => a.mul(b)),
    f32: fn('times', { a: f32, b: f32 }, f32, ({ a, b }) => a.mul(b)),
  };
  const sum = { u32: plus(u32), f32: plus(f32) };
  const ArrayOf = { u32: Uint32Array, f32: Float32Array };
  return {
    name: 'dot',
    types: ['u32', 'f32'],
    inputs: ({ n, type }) => ({
      a: ArrayOf[type].from({ length: n }, (_, i) => i % 251),
      b: ArrayOf[type].from({ length: n }, (_, i) => i % 241),
    }),
    run: ({ a, b }, { type }) => reduce(map(times[type], { a, b }), sum[type]),
    bytes: ({ n }) => 8 * n,
    plain({ a, b }, { type }) {
      let total = 0;
      if (type === 'u32') for (let i = 0; i < a.length; i++) total = (total + Math.imul(a[i], b[i])) | 0;
      else for (let i = 0; i < a.length; i++) total += a[i] * b[i];
      return ArrayOf[type].of(total);
    },
    // For f32, the results of `run` and `plain` differ slightly, because `plain` adds in f64 and in another order.
    tolerance: ({ type }) => (type === 'f32' ? 1e-4 : 0),
  };
};
