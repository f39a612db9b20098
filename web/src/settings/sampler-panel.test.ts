import { expect, test } from 'vitest';
import { samplingFields } from '../../../src/core/sampling-fields.ts';
import { builtInPresets, missingOwners, panelGroups } from './sampler-panel.ts';

const fields = panelGroups.flatMap((group) => group.fields);

test('panelGroups: contains every sampler of the server once', () => {
  const expected = Object.values(samplingFields).map(({ wire }) => wire[0]);
  expect(fields.map(({ wire }) => wire).sort()).toEqual([...expected].sort());
});

test.each(fields)('$wire has a label for people, and its default within its slider', (field) => {
  expect(field.label).toMatch(/^[A-Z][\w\- ]+$/);
  expect(field.default).toBeGreaterThanOrEqual(field.min);
  expect(field.default).toBeLessThanOrEqual(field.max);
  expect(field.max).toBeGreaterThan(field.min);
});

test('panelGroups: has unique labels', () => {
  const labels = fields.map(({ label }) => label);
  expect(new Set(labels).size).toBe(labels.length);
  expect(labels).toContain('Temperature');
});

test.each(builtInPresets)(
  'the preset $name sets only controls that there are, within their sliders',
  ({ samplers }) => {
    for (const [wire, value] of Object.entries(samplers?.sampling ?? {})) {
      const field = fields.find((one) => one.wire === wire);
      expect(field, wire).toBeDefined();
      expect(value).toBeGreaterThanOrEqual(field?.min ?? Number.NaN);
      expect(value).toBeLessThanOrEqual(field?.max ?? Number.NaN);
    }
  },
);

test('missingOwners: names the samplers that must be on first', () => {
  const field = (wire: string) => fields.find((one) => one.wire === wire) as (typeof fields)[number];
  const values: Record<string, number> = { dry_multiplier: 0, rep_pen: 1, presence_penalty: 0, frequency_penalty: 0.1 };
  const read = (wire: string) => values[wire] ?? 0;
  expect(missingOwners(field('dry_base'), read)).toEqual(['DRY multiplier']);
  expect(missingOwners(field('rep_pen_range'), read)).toEqual([]);
  expect(missingOwners(field('temperature'), read)).toEqual([]);
});
