import fc from 'fast-check';

/** Any Unicode character: the unit `binary` of fast-check, which takes a second in each process to build its table. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((code) => String.fromCodePoint(code));
