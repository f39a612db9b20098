import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { differences, probeProgram, usedFacts } from './compare.ts';
import { ownDeclarations } from './declarations.ts';
import type { HeaderFacts } from './headers.ts';

const root = new URL('../../', import.meta.url);
const pinned = JSON.parse(readFileSync(new URL('facts.json', import.meta.url), 'utf8')) as HeaderFacts;

test('what the worker declares of llama.cpp is what the headers of the pinned version say', () => {
  const own = ownDeclarations(root);
  expect(Object.keys(own.functions).length).toBeGreaterThan(70);
  expect(differences(own, pinned)).toEqual([]);
});

const declared: HeaderFacts = {
  functions: { decode: 'int32(pointer)', gone: 'void()' },
  structs: { params: [{ name: 'count', kind: 'int32', offset: 0, size: 4 }] },
  constants: { MODE: 1 },
};

test('differences: says what moved, changed, came and went', () => {
  const headers: HeaderFacts = {
    functions: { decode: 'int32(pointer, bool)', other: 'void()' },
    structs: {
      params: [
        { name: 'first', kind: 'bool', offset: 0, size: 1 },
        { name: 'count', kind: 'int32', offset: 4, size: 4 },
      ],
    },
    constants: { MODE: 2 },
  };
  expect(differences(declared, headers)).toEqual([
    'decode is declared as int32(pointer); the headers have int32(pointer, bool).',
    'gone is not in the headers.',
    'params.count is declared as int32 at 0, 4 bytes; the headers have int32 at 4, 4 bytes.',
    'params.first (bool at 0, 1 bytes) is not declared.',
    'MODE is declared as 1; the headers have 2.',
  ]);
  expect(usedFacts(headers, declared).functions).toEqual({ decode: 'int32(pointer, bool)' });
});

test('probeProgram: asks a compiler for the place and the length of each field', () => {
  const program = probeProgram(['llama.h'], declared);
  expect(program).toContain('#include "llama.h"');
  expect(program).toContain('_Static_assert(offsetof(struct params, count) == 0, "params.count is not at 0");');
  expect(program).toContain('sizeof(((struct params *) 0)->count) == 4');
});
