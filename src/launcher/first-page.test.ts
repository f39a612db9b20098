import { describe, expect, test } from 'vitest';
import { type FirstPage, firstPage, hasDisplay, inContainer, ownCommand, type Start } from './first-page.ts';

const typed: Start = {
  showgui: false,
  skiplauncher: false,
  isConfigured: false,
  environment: { DISPLAY: ':0' },
  platform: 'linux',
  streams: 'terminal',
  container: false,
  pids: [4711, 4710],
  parentName: () => 'cmd.exe',
};
const file = { DISPLAY: ':0', PARLEY_SINGLE_FILE: '1' };
const mac = { ...typed, platform: 'darwin' };
const clicked: Start = { ...typed, environment: file, streams: 'detached' };
const onWindows: Start = { ...typed, platform: 'win32', environment: { PARLEY_SINGLE_FILE: '1' } };

describe('firstPage', () => {
  test.each<[string, Start, FirstPage]>([
    ['no flags in a terminal, at a display', typed, 'web client'],
    ['a Wayland display', { ...typed, environment: { WAYLAND_DISPLAY: 'wayland-0' } }, 'web client'],
    ['a Mac', { ...mac, environment: {} }, 'web client'],
    ['the single file, typed', { ...typed, environment: file }, 'web client'],
    ['no display', { ...typed, environment: {} }, 'none'],
    ['an empty display', { ...typed, environment: { DISPLAY: '' } }, 'none'],
    ['CI', { ...typed, environment: { DISPLAY: ':0', CI: 'true' } }, 'none'],
    ['SSH', { ...mac, environment: { SSH_CONNECTION: 'x' } }, 'none'],
    ['SSH with a forwarded display', { ...typed, environment: { DISPLAY: 'localhost:10.0', SSH_TTY: 'x' } }, 'none'],
    ['a container', { ...typed, container: true }, 'none'],
    ['a pipe', { ...typed, streams: 'redirected' }, 'none'],
    ['a service', { ...typed, streams: 'detached' }, 'none'],
    ['any flag', { ...typed, isConfigured: true }, 'none'],
    ['--skiplauncher', { ...typed, isConfigured: true, skiplauncher: true }, 'none'],
    ['--showgui beside other flags', { ...typed, isConfigured: true, showgui: true }, 'launcher'],
    ['--showgui without a display', { ...typed, showgui: true, environment: {} }, 'launcher'],
    ['--skiplauncher beside --showgui', { ...typed, skiplauncher: true, showgui: true }, 'none'],
    ['a double click', clicked, 'launcher'],
    ['a double click in a container', { ...clicked, container: true }, 'none'],
    ['a double click with --skiplauncher', { ...clicked, isConfigured: true, skiplauncher: true }, 'none'],
    ['the single file, in a pipe', { ...clicked, streams: 'redirected' }, 'none'],
    ['a user service of systemd', { ...clicked, environment: { ...file, SYSTEMD_EXEC_PID: '4711' } }, 'none'],
    ['a shell script of systemd', { ...clicked, environment: { ...file, SYSTEMD_EXEC_PID: '4710' } }, 'none'],
    ['a click in a desktop of systemd', { ...clicked, environment: { ...file, SYSTEMD_EXEC_PID: '9' } }, 'launcher'],
    ['a job of launchd', { ...clicked, ...mac, streams: 'detached', environment: agent('org.parley') }, 'none'],
    ['a click on a Mac', { ...mac, streams: 'detached', environment: agent('application.org.parley') }, 'launcher'],
    ['a click on Windows', { ...onWindows, parentName: () => 'Explorer.EXE' }, 'launcher'],
    ['a console on Windows', onWindows, 'web client'],
    ['a service on Windows', { ...onWindows, streams: 'detached', parentName: () => 'services.exe' }, 'none'],
  ])('%s', (_, start, expected) => {
    expect(firstPage(start)).toBe(expected);
  });
});

function agent(label: string) {
  return { PARLEY_SINGLE_FILE: '1', XPC_SERVICE_NAME: label };
}

test('hasDisplay: true with a display of this machine', () => {
  expect(hasDisplay({ DISPLAY: ':0' }, 'linux')).toBe(true);
  expect(hasDisplay({ DISPLAY: ':0', SSH_CONNECTION: 'x' }, 'linux')).toBe(false);
  expect(hasDisplay({}, 'linux')).toBe(false);
  expect(hasDisplay({}, 'darwin')).toBe(true);
  expect(hasDisplay({ SSH_TTY: '/dev/pts/1' }, 'win32')).toBe(false);
});

test('inContainer: by a file or a variable of the container', () => {
  const none = () => false;
  expect(inContainer({}, none)).toBe(false);
  expect(inContainer({ container: 'podman' }, none)).toBe(true);
  expect(inContainer({ KUBERNETES_SERVICE_HOST: '192.0.2.1' }, none)).toBe(true);
  expect(inContainer({}, (path) => path === '/.dockerenv')).toBe(true);
  expect(inContainer({ container: '' }, () => true)).toBe(false);
});

test.each([
  [{}, '/usr/bin/node', 'parley'],
  [{ npm_lifecycle_event: 'start', npm_package_name: 'parley' }, '/usr/bin/node', 'npm start --'],
  [{ npm_lifecycle_event: 'start', npm_package_name: 'my-app' }, '/usr/bin/node', 'parley'],
  [{ npm_lifecycle_event: 'npx' }, '/usr/bin/node', 'parley'],
  [{ PARLEY_SINGLE_FILE: '1' }, '/home/me/parley-0.1.0-linux-x64', './parley-0.1.0-linux-x64'],
  [{ PARLEY_SINGLE_FILE: '1' }, 'C:\\Users\\me\\parley-0.1.0.exe', '.\\parley-0.1.0.exe'],
])('ownCommand: %j %s is started again by %s', (environment, program, command) => {
  expect(ownCommand(environment, program)).toBe(command);
});
