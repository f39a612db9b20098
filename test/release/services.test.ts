import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { ownFolder } from '../../src/core/data-folder.ts';

const packaging = fileURLToPath(new URL('../../packaging', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-services-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('packaging/systemd/parley.service', () => {
  const unit = readFileSync(join(packaging, 'systemd/parley.service'), 'utf8');
  const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  const missing = analyze('--version').status === 0 ? undefined : 'systemd-analyze is not installed';

  test('is a valid unit, and exposes little', ({ skip }) => {
    if (missing !== undefined) return skip(missing);
    // The program of the unit must exist.
    const copy = join(folder, 'parley.service');
    writeFileSync(copy, unit.replace('/usr/local/bin/parley', process.execPath));
    expect(analyze('verify', '--man=no', copy)).toMatchObject({ status: 0, stderr: '' });
    const { status, stdout } = analyze('security', '--offline=true', '--threshold=25', '--no-pager', copy);
    expect(status, stdout).toBe(0);
  });

  test('puts the folders of Parley where systemd makes them', () => {
    const [, line = ''] = /^Environment=(.*)$/m.exec(unit) ?? [];
    const resolved = line.replaceAll('%S', '/var/lib').replaceAll('%C', '/var/cache').replaceAll('%E', '/etc');
    const environment = Object.fromEntries(resolved.split(' ').map((pair) => pair.split('=') as [string, string]));
    const system = { home: environment.HOME ?? '', platform: 'linux', environment };
    expect(ownFolder('models', system)).toBe('/var/lib/parley/models');
    expect(environment).toMatchObject({ XDG_CACHE_HOME: '/var/cache', XDG_CONFIG_HOME: '/etc' });
    expect(unit).toMatch(/^StateDirectory=parley\nCacheDirectory=parley$/m);
  });

  test('lets programs make code while they run', () => {
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute/m);
  });
});

describe('packaging/launchd/local.parley.plist', () => {
  const path = join(packaging, 'launchd/local.parley.plist');
  const [tool, ...args] =
    process.platform === 'darwin'
      ? ['plutil', '-convert', 'json', '-o', '-', path]
      : [
          'python3',
          '-c',
          'import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], "rb"))))',
          path,
        ];
  const read = spawnSync(tool, args, { encoding: 'utf8' });
  const missing = read.error ? `${tool} is not installed` : undefined;
  const properties = (): { Label: string; ProgramArguments: string[] } => {
    expect(read.stderr).toBe('');
    return JSON.parse(read.stdout) as { Label: string; ProgramArguments: string[] };
  };

  test('is a valid property list with the name of its file', ({ skip }) => {
    if (missing !== undefined) return skip(missing);
    expect(properties()).toMatchObject({
      Label: 'local.parley',
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
    });
  });

  test('starts the program with its flags, and keeps what it says in the log folder of the user', ({ skip }) => {
    if (missing !== undefined) return skip(missing);
    const [shell = '', ...rest] = properties().ProgramArguments.map((word) =>
      word === '/usr/local/bin/parley' ? '/bin/echo' : word,
    );
    mkdirSync(join(folder, 'Library/Logs'), { recursive: true });
    expect(spawnSync(shell, rest, { env: { HOME: folder } }).status).toBe(0);
    expect(readFileSync(join(folder, 'Library/Logs/Parley.log'), 'utf8')).toBe('--skiplauncher\n');
  });
});
