import { expect, test } from 'vitest';
import { addressOf } from './address.ts';

test.each([
  ['http://localhost:5001/', 'http://localhost:5001/v1/models'],
  ['http://localhost:5001/lcpp/', 'http://localhost:5001/lcpp/v1/models'],
  ['http://localhost:5001/lcpp', 'http://localhost:5001/v1/models'],
  ['https://home.example/models/parley/#/chat/1', 'https://home.example/models/parley/v1/models'],
])('addressOf: on page %s returns %s', (page, expected) => {
  expect(addressOf('/v1/models', page)).toBe(expected);
  expect(addressOf('v1/models', page)).toBe(expected);
});
