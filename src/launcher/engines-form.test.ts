import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newEngine, typed, writtenEngines } from '../../web/src/launcher/engines.ts';
import { readEngine, splitCommand } from '../config/engine.ts';
import { engineRecipes } from '../server/engines-command.ts';

test('engine form: arguments are shown as a text that is split into the same arguments on every system', () => {
  expect(typed(['llama-server', '--port', '${port}', '-m', 'my model.gguf'])).toBe(
    "llama-server --port ${port} -m 'my model.gguf'",
  );
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), fc.constantFrom('linux', 'win32'), (args, platform) => {
      expect(splitCommand(typed(args), platform)).toEqual({ ok: true, args });
    }),
  );
});

test('engine form: a recipe becomes a program that the server accepts, with all fields of the recipe', () => {
  for (const { engine, ...recipe } of engineRecipes) {
    const added = newEngine([], { ...recipe, engine: { ...engine }, installed: false });
    const [text = ''] = writtenEngines([added]) as string[];
    const reading = readEngine(text);
    expect(reading.ok).toBe(true);
    expect(reading).toEqual(readEngine(JSON.stringify({ name: recipe.title.toLowerCase(), ...engine })));
  }
});
