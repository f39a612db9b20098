import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

async function opened() {
  const page = fakePage();
  const { loadCharacters, personas, preferences } = await import('./library.svelte.ts');
  await loadCharacters();
  return { page, personas, preferences, ...(await import('./personas.svelte.ts')) };
}

test('beginPersona: saves nothing and changes no default before something is entered', async () => {
  const { personas, preferences, beginPersona, begunPersona, changePersona, discardBegun } = await opened();
  beginPersona();
  changePersona(begunPersona()?.id ?? '', { name: '  ' });
  expect([personas.all, preferences.persona]).toEqual([[], '']);
  discardBegun();
  expect(begunPersona()).toBeUndefined();
});

test('changePersona: saves a begun persona with its first field, and only the first one is the default', async () => {
  const { personas, preferences, beginPersona, begunPersona, changePersona } = await opened();
  beginPersona();
  const first = begunPersona()?.id ?? '';
  changePersona(first, { description: 'A sailor.' });
  expect(begunPersona()).toBeUndefined();
  expect(personas.all).toMatchObject([{ id: first, name: 'New persona', description: 'A sailor.' }]);
  expect(preferences.persona).toBe(first);
  changePersona(first, { name: ' Maren ' });
  beginPersona();
  changePersona(begunPersona()?.id ?? '', { name: 'Ada' });
  expect(personas.all.map(({ name }) => name).sort()).toEqual(['Ada', 'Maren']);
  expect(preferences.persona).toBe(first);
});
