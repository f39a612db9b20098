import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { connectToolServers, namedServers, serverFile, toolServerEditor } from './tool-servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-tools-'));
afterAll(() => rmSync(folder, { recursive: true }));

function parts(content: string | undefined, environment: Readonly<Record<string, string>> = {}) {
  const mcpfile = content === undefined ? '' : join(folder, 'servers.json');
  if (content !== undefined) writeFileSync(mcpfile, content);
  const said: string[] = [];
  const settings = { mcpfile, mcptimeout: 1, admin: false };
  return {
    settings,
    product: { name: 'Parley', version: '1' },
    environment,
    log: (line: string) => said.push(line),
    said,
  };
}

describe('tool servers: --mcpfile', () => {
  test('none without the flag', () => {
    expect(namedServers(parts(undefined))).toEqual([]);
  });

  test('are those of the file, with its folder as working directory', () => {
    const servers = namedServers(parts(`{"mcpServers":{"a":{"command":"\${NAME}"}}}`, { NAME: 'run' }));
    expect(servers).toMatchObject([{ name: 'a', command: 'run', folder }]);
  });

  test('rejects an invalid file with its name and the reason', () => {
    expect(() => namedServers(parts('{"mcpServers":{"a":{}}}'))).toThrow(
      `--mcpfile ${join(folder, 'servers.json')} cannot be used: mcpServers.a must have a command or a url.`,
    );
    const missing = parts('{}');
    rmSync(missing.settings.mcpfile);
    expect(() => namedServers(missing)).toThrow(/cannot be used: ENOENT/);
  });

  test('connects, escapes control characters in their output, and reports a failed connection', async () => {
    const own = parts('{}');
    const command = { type: 'command', command: 'no-such-\u001b[31mprogram', args: [], env: {}, folder } as const;
    const pool = await connectToolServers([{ ...command, name: 'none' }], own);
    expect(await pool.list()).toEqual([]);
    await pool.close();
    expect(own.said[0]).toBe('Connecting to MCP Server none...');
    expect(own.said[1]).toContain('MCP Init Error: none: no-such-\\x1b[31mprogram cannot be started');
  });
});

describe('tool servers: added while the server runs', () => {
  test('are saved in the file of --mcpfile, or in one of the config folder with --admin', async () => {
    expect(serverFile({ mcpfile: 'own.json', admin: true })).toBe('own.json');
    expect(serverFile({ mcpfile: '', admin: false })).toBe('');
    expect(serverFile({ mcpfile: '', admin: true })).toMatch(/mcp\.json$/);
  });

  test('are in the file and in the pool, also after a restart', async () => {
    const own = parts('{"note":1,"mcpServers":{}}');
    const pool = await connectToolServers([], own);
    const editor = await toolServerEditor(pool, own);
    await editor.add('far', { url: 'http://127.0.0.1:9/mcp' });
    expect(pool.catalog.servers()).toMatchObject([{ name: 'far', type: 'address', tools: [] }]);
    expect(JSON.parse(readFileSync(own.settings.mcpfile, 'utf8'))).toEqual({
      note: 1,
      mcpServers: { far: { url: 'http://127.0.0.1:9/mcp' } },
    });
    expect(namedServers(own)).toMatchObject([{ name: 'far' }]);
    await editor.remove('far');
    expect(pool.catalog.servers()).toEqual([]);
    expect(namedServers(own)).toEqual([]);
    await pool.close();
  });
});
