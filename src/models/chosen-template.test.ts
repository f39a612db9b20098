import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { loadChatFormat } from './chat-format.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-format-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function templateFile(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function load(own: Partial<Settings>, modelTemplate?: string) {
  const warnings: string[] = [];
  const settings = { ...defaultSettings, ...own };
  const format = await loadChatFormat(settings, modelTemplate, (text) => warnings.push(text));
  return { format, warnings };
}

const good = "{% for m in messages %}{{ m['content'] }}{% endfor %}";
const broken = 'first line\n  {{ messages | }}';

test('chat template: the template of the model is used with --jinja only', async () => {
  expect((await load({ jinja: true }, good)).format.templateText).toBe(good);
  expect(await (await load({ jinja: true }, good)).format.template()).toBeDefined();
  expect(await (await load({ jinja: false }, good)).format.template()).toBeUndefined();
  expect(await (await load({ jinja: true })).format.template()).toBeUndefined();
});

test('chat template: a chosen template replaces that of the model', async () => {
  const jinjatemplate = await templateFile('good.jinja', good);
  const { format, warnings } = await load({ jinja: true, jinja_tools: true, jinjatemplate }, broken);
  expect(format).toMatchObject({ templateText: good, templateUse: { chats: true, tools: true } });
  expect(await format.template()).toBeDefined();
  expect(warnings).toEqual([]);
});

test.each([true, false])(
  'chat template: rejects an invalid chosen template with its position (--jinja %s)',
  async (jinja) => {
    const jinjatemplate = await templateFile('broken.jinja', broken);
    await expect(load({ jinja, jinjatemplate }, good)).rejects.toThrow(
      `--jinjatemplate: ${jinjatemplate} is no template: line 2, column 3, at {{ messages | }}: Unexpected token: CloseExpression.`,
    );
  },
);

test('chat template: rejects an unreadable chosen template', async () => {
  await expect(load({ jinjatemplate: folder })).rejects.toThrow(`--jinjatemplate: ${folder} cannot be read: EISDIR`);
  const missing = join(folder, 'nowhere.jinja');
  await expect(load({ jinjatemplate: missing })).rejects.toThrow(`--jinjatemplate: ${missing} cannot be read: ENOENT`);
});

test('chat template: logs an invalid template of a model once and uses the adapter', async () => {
  const { format, warnings } = await load({ jinja: true }, broken);
  expect(await format.template()).toBeUndefined();
  expect(await format.template()).toBeUndefined();
  expect(warnings).toEqual([expect.stringContaining('The chat template cannot be used, so the chat adapter is')]);
});
