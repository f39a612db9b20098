import { expect, test } from 'vitest';
import type { ServerConfig } from './config.ts';
import { serverFileEditor } from './server-file.ts';

function editorOf(content: string | undefined) {
  let text = content;
  const added: ServerConfig[] = [];
  const removed: string[] = [];
  const editor = serverFileEditor({
    path: '/servers.json',
    read: async () => text,
    write: async (next) => {
      text = next;
    },
    exclusively: (change) => change(),
    options: { environment: { TOKEN: 'secret' }, folder: '/', resolve: (...paths) => paths.join('/') },
    add: async (config) => void added.push(config),
    remove: async (name) => void removed.push(name),
  });
  return { editor, added, removed, file: () => JSON.parse(text ?? 'null') as unknown };
}

test('serverFileEditor: makes the file', async () => {
  const { editor, added, file } = editorOf(undefined);
  const headers = { authorization: 'Bearer token' };
  await editor.add('far', { url: 'https://a.example/mcp', headers });
  expect(file()).toEqual({ mcpServers: { far: { url: 'https://a.example/mcp', headers } } });
  expect(added).toMatchObject([{ name: 'far', type: 'address', headers }]);
});

test('serverFileEditor: refuses environment variables, which could be secrets', async () => {
  const { editor, added, file } = editorOf('{}');
  const entry = { url: 'https://a.example/mcp', headers: { authorization: 'Bearer ${TOKEN}' } };
  await expect(editor.add('far', entry)).rejects.toThrow('Environment variables can only be used in /servers.json.');
  expect([added, file()]).toEqual([[], {}]);
});

test('serverFileEditor: other servers and fields stay, also below "servers"', async () => {
  const { editor, file, removed } = editorOf('{"x":1,"servers":{"a":{"command":"run"},"b":{"url":"http://b/"}}}');
  await Promise.all([editor.add('c', { url: 'http://c/' }), editor.remove('b')]);
  expect(file()).toEqual({ x: 1, servers: { a: { command: 'run' }, c: { url: 'http://c/' } } });
  expect(removed).toEqual(['b']);
});

test('serverFileEditor: programs can be neither added, replaced nor removed', async () => {
  const { editor, added, removed, file } = editorOf('{"mcpServers":{"a":{"command":"run"}}}');
  await expect(editor.add('b', { command: 'run' })).rejects.toThrow('Only servers with an address');
  await expect(editor.add('a', { url: 'http://a/' })).rejects.toThrow('a is a program. Change it in /servers.json.');
  await expect(editor.remove('a')).rejects.toThrow('is a program');
  expect([added, removed, file()]).toEqual([[], [], { mcpServers: { a: { command: 'run' } } }]);
});

test.each([[{ url: 'ftp://a/' }], [{ url: '' }], [{ url: 'http://a/', headers: { 'a b': 'x' } }]])(
  'serverFileEditor: refuses %j',
  async (entry) => {
    const { editor, file } = editorOf('{}');
    await expect(editor.add('a', entry)).rejects.toThrow('mcpServers.a');
    expect(file()).toEqual({});
  },
);

test('serverFileEditor: says which server is unknown', async () => {
  await expect(editorOf('{}').editor.remove('a')).rejects.toThrow('There is no server a.');
});
