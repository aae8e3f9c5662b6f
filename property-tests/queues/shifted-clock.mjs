// Loaded before a program, shifts its clock by QUADRILLE_TEST_CLOCK milliseconds.
const shift = Number(process.env.QUADRILLE_TEST_CLOCK);
const now = Date.now;
Date.now = () => now() + shift;
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shift });
