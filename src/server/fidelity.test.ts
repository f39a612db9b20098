import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fillFields } from '../protocols/fidelity/fidelity.ts';
import { fidelityByPage } from './fidelity.ts';
import { builtApp } from './testing/built-app.ts';

const { modelEndpoints } = await builtApp();

test.each(Object.entries(fidelityByPage(modelEndpoints)))(
  'docs/apis/%s.md: the field table equals the code',
  (page, endpoints) => {
    const text = readFileSync(new URL(`../../docs/apis/${page}.md`, import.meta.url), 'utf8');
    expect(text, 'run `npm run docs`').toBe(fillFields(text, endpoints));
  },
);
