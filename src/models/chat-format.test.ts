import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { noTemplate } from '../chat/prompt.ts';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { loadChatFormat } from './chat-format.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-format-'));
afterAll(() => rmSync(folder, { recursive: true }));
const chatml =
  '{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

async function load(changes: Partial<Settings>, modelTemplate?: string) {
  const warnings: string[] = [];
  const format = await loadChatFormat({ ...defaultSettings, ...changes }, modelTemplate, (text) => warnings.push(text));
  return { format, warnings };
}

describe('loadChatFormat', () => {
  test('guesses the adapter from the template of the model, and ignores the template itself without --jinja', async () => {
    const { format, warnings } = await load({}, chatml);
    expect(format.adapter.name).toMatch(/ChatML/);
    expect(await format.template()).toBeUndefined();
    expect([format.templateText, format.templateUse, warnings]).toEqual([chatml, noTemplate, []]);
  });

  test('uses the plain adapter without a template, and logs it', async () => {
    const { format } = await load({ jinja: true, jinja_tools: true });
    expect(format.adapter.consoleLine).toContain('Alpaca will be used');
    expect([await format.template(), format.templateUse]).toEqual([undefined, noTemplate]);
  });

  test('--jinja: parses the template once', async () => {
    const { format } = await load({ jinja: true }, chatml);
    const [first, second] = await Promise.all([format.template(), format.template()]);
    expect(first).toBeDefined();
    expect(second).toBe(first);
  });

  test('--chattemplate: reads the file, also for the guess', async () => {
    const path = join(folder, 'own.jinja');
    writeFileSync(path, chatml);
    const { format } = await load({ jinja: true, jinja_tools: true, jinjatemplate: path }, 'of the model');
    expect([format.templateText, format.templateUse.tools]).toEqual([chatml, true]);
    expect(format.adapter.name).toMatch(/ChatML/);
  });

  test('uses the template for shown tools if their format is known, unless an adapter was chosen', async () => {
    const tools = `${chatml}{{ tools | tojson if tools }}<tool_call>`;
    const { format } = await load({}, tools);
    expect(format.templateUse).toEqual({ chats: false, tools: false, listedTools: true });
    expect(await format.template()).toBeDefined();
    const chosen = await load({ chatcompletionsadapter: 'ChatML' }, tools);
    expect([chosen.format.templateUse, await chosen.format.template()]).toEqual([noTemplate, undefined]);
  });

  test('falls back to the adapter for an invalid template, and logs the reason once', async () => {
    const { format, warnings } = await load({ jinja: true }, '{% for %}');
    expect([await format.template(), await format.template()]).toEqual([undefined, undefined]);
    expect(warnings).toEqual([expect.stringMatching(/^The chat template cannot be used, so the chat adapter is: ./)]);
  });

  test('accepts an adapter by name, from a file or as JSON', async () => {
    const path = join(folder, 'own.json');
    const written = JSON.stringify({ user_start: '<me>' });
    writeFileSync(path, written);
    for (const chatcompletionsadapter of [path, written]) {
      expect((await load({ chatcompletionsadapter }, chatml)).format.adapter.adapter.tags.userStart).toBe('<me>');
    }
    expect((await load({ chatcompletionsadapter: 'ChatML' })).format.adapter.adapter.tags.userStart).toContain(
      '<|im_start|>user',
    );
  });

  test('rejects an unknown adapter and lists the known ones', async () => {
    await expect(load({ chatcompletionsadapter: 'Nonsense' })).rejects.toThrow(/neither a file nor a built-in name/);
  });
});
