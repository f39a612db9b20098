import { expect, test } from 'vitest';
import { cardUse, isCard, mayBeCard } from './kinds.ts';

const card = JSON.stringify({ spec: 'chara_card_v2', data: { name: 'Mira', first_mes: 'Hello.' } });

test('isCard: knows a card by its content', async () => {
  expect(await isCard(new File([card], 'mira.json'))).toBe(true);
  expect(await isCard(new File(['{"name": "Mira"}'], 'other.json'))).toBe(false);
  expect(await isCard(new File(['{"broken'], 'broken.json'))).toBe(false);
  expect(await isCard(new File([card], 'mira.txt'))).toBe(false);
});

test('mayBeCard: other kinds and very large files are not read', () => {
  expect(mayBeCard({ name: 'photo', type: 'image/png', size: 10 })).toBe(true);
  expect(mayBeCard({ name: 'Mira.CHARX', type: '', size: 10 })).toBe(true);
  expect(mayBeCard({ name: 'photo.jpg', type: 'image/jpeg', size: 10 })).toBe(false);
  expect(mayBeCard({ name: 'huge.png', type: 'image/png', size: 100 * 2 ** 20 })).toBe(false);
});

test.each([
  ['mira.png', false, 'import'],
  ['mira.png', true, 'offer'],
  ['mira.charx', true, 'import'],
  ['mira.json', false, 'offer'],
])('cardUse: %s, model with vision %s: %s', (name, vision, use) => {
  expect(cardUse({ name }, { vision })).toBe(use);
});
