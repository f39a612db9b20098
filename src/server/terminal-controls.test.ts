import { expect, test } from 'vitest';
import { defaultControls } from '../core/request.ts';
import { controlParts } from '../protocols/testing/doubles.ts';
import { terminalControls } from './terminal-controls.ts';

test('terminalControls: are those of a request without fields', () => {
  const controls = terminalControls({ applyDefaults: (body) => body, controlParts: () => controlParts });
  expect(controls).toEqual({ ...defaultControls, maxTokens: controlParts.defaultMaxTokens });
});

test('terminalControls: have the defaults of --gendefaults', () => {
  const applyDefaults = (body: object) => ({ ...body, temperature: 0, stop_sequence: ['x'] });
  const controls = terminalControls({ applyDefaults, controlParts: () => controlParts });
  expect(controls).toMatchObject({ sampling: { temperature: 0 }, stop: ['x'] });
});
