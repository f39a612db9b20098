import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fieldTables, fillFields, pageOf } from '../protocols/fidelity/fidelity.ts';
import { builtApp } from './testing/built-app.ts';

const { modelEndpoints } = await builtApp();
const folder = new URL('../../docs/apis/', import.meta.url);

test.each(readdirSync(folder))('docs/apis/%s: the field tables equal those of the endpoints', (name) => {
  const text = readFileSync(new URL(name, folder), 'utf8');
  const endpoints = modelEndpoints.filter((endpoint) => `${pageOf(endpoint)}.md` === name);
  expect(text, 'run `npm run docs`').toBe(fillFields(text, fieldTables(endpoints)));
});
