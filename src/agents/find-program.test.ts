import { expect, test } from 'vitest';
import { findProgram } from './find-program.ts';

const shim = (target: string) =>
  `@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\n\r\nIF EXIST "%dp0%\\node.exe" (\r\n  SET "_prog=%dp0%\\node.exe"\r\n) ELSE (\r\n  SET "_prog=node"\r\n)\r\n\r\nendLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\\${target}" %*\r\n`;

function find(platform: string, path: string, files: Readonly<Record<string, string>>) {
  const isFile = (name: string) => Object.hasOwn(files, name);
  return findProgram(
    'codex',
    { platform, environment: { PATH: path } },
    { isFile, read: (name) => files[name] ?? '' },
    'NODE',
  );
}

test('findProgram: the first on the path', () => {
  expect(find('linux', '/a:/b', { '/b/codex': '' })).toEqual({ path: '/b/codex', arguments: [] });
  expect(find('linux', '/a:/b', {})).toBeUndefined();
});

test('findProgram: relative folders of the path do not count', () => {
  expect(find('linux', 'bin:.:', { 'bin/codex': '', codex: '' })).toBeUndefined();
});

test('findProgram: the script behind a .cmd of npm is started without a shell', () => {
  const script = 'node_modules\\@openai\\codex\\bin\\codex.js';
  expect(find('win32', 'C:\\npm', { 'C:\\npm\\codex.cmd': shim(script) })).toEqual({
    path: 'NODE',
    arguments: [`C:\\npm\\${script}`],
  });
  const program = 'node_modules\\x\\bin\\x.exe';
  expect(find('win32', 'C:\\npm', { 'C:\\npm\\codex.cmd': `"%dp0%\\${program}"   %*` })).toEqual({
    path: `C:\\npm\\${program}`,
    arguments: [],
  });
});

test('findProgram: a program is preferred to a script, and another script is refused', () => {
  const files = { 'C:\\npm\\codex.exe': '', 'C:\\npm\\codex.cmd': 'echo' };
  expect(find('win32', 'C:\\npm', files)).toEqual({ path: 'C:\\npm\\codex.exe', arguments: [] });
  expect(() => find('win32', 'C:\\npm', { 'C:\\npm\\codex.bat': 'echo %*' })).toThrow('without a shell');
});
