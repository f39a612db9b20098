import { describe, expect, test } from 'vitest';
import { ownFolder, ownFolders, type SystemFolders } from './data-folder.ts';

const linux: SystemFolders = { home: '/home/p', platform: 'linux', environment: {} };
const mac: SystemFolders = { home: '/Users/p', platform: 'darwin', environment: {} };
const windows: SystemFolders = { home: 'C:\\Users\\p', platform: 'win32', environment: {} };
const shown = ['models', 'config', 'cache'] as const;
const folders = (system: SystemFolders) => shown.map((what) => ownFolder(what, system));

describe('ownFolder', () => {
  test('Linux: the XDG folders, and their variables', () => {
    expect(folders(linux)).toEqual([
      '/home/p/.local/share/parley/models',
      '/home/p/.config/parley',
      '/home/p/.cache/parley',
    ]);
    const environment = { XDG_DATA_HOME: '/d', XDG_CONFIG_HOME: '/c', XDG_CACHE_HOME: '/x' };
    expect(folders({ ...linux, environment })).toEqual(['/d/parley/models', '/c/parley', '/x/parley']);
  });

  test('macOS: Application Support and Caches', () => {
    expect(folders(mac)).toEqual([
      '/Users/p/Library/Application Support/Parley/models',
      '/Users/p/Library/Application Support/Parley',
      '/Users/p/Library/Caches/Parley',
    ]);
  });

  test('Windows: AppData, with and without its variables', () => {
    const own = ['C:\\Users\\p\\AppData\\Roaming', 'C:\\Users\\p\\AppData\\Local'] as const;
    const expected = (roaming: string, local: string) => [
      `${roaming}\\Parley\\models`,
      `${roaming}\\Parley`,
      `${local}\\Parley\\Cache`,
    ];
    expect(folders(windows)).toEqual(expected(...own));
    const environment = { APPDATA: 'D:\\R', LOCALAPPDATA: 'D:\\L' };
    expect(folders({ ...windows, environment })).toEqual(expected('D:\\R', 'D:\\L'));
  });

  test('PARLEY_HOME: moves every folder on every system, data to where it was before', () => {
    for (const system of [linux, mac]) {
      const moved = { ...system, environment: { PARLEY_HOME: '/srv/parley', XDG_CONFIG_HOME: '/c' } };
      expect(folders(moved)).toEqual(['/srv/parley/models', '/srv/parley/config', '/srv/parley/cache']);
    }
    const all = (Object.keys(ownFolders) as (keyof typeof ownFolders)[]).map((what) =>
      ownFolder(what, { ...windows, environment: { PARLEY_HOME: 'D:\\p' } }),
    );
    expect(all.filter((folder) => !folder.startsWith('D:\\p\\'))).toEqual([]);
  });

  test('PARLEY_PACKS: moves the packs alone', () => {
    const system = { ...linux, environment: { PARLEY_HOME: '/srv', PARLEY_PACKS: '/packs' } };
    expect([ownFolder('packs', system), ownFolder('models', system)]).toEqual(['/packs', '/srv/models']);
  });
});
