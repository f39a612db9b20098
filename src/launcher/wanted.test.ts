import { expect, test } from 'vitest';
import { hasDisplay, type Start, wantsLauncher } from './wanted.ts';

const desktop: Start = {
  showgui: false,
  skiplauncher: false,
  given: false,
  environment: { DISPLAY: ':0' },
  platform: 'linux',
};

test.each<[string, Partial<Start>, boolean]>([
  ['no word at all, at a display', {}, true],
  ['no word at all, at a Wayland display', { environment: { WAYLAND_DISPLAY: 'wayland-0' } }, true],
  ['no word at all, without a display', { environment: {} }, false],
  ['an empty display is none', { environment: { DISPLAY: '' } }, false],
  ['no word at all, in an automatic run', { environment: { DISPLAY: ':0', CI: 'true' } }, false],
  ['any flag', { given: true }, false],
  ['--showgui beside other flags', { given: true, showgui: true }, true],
  ['--showgui without a display', { showgui: true, environment: {} }, true],
  ['--skiplauncher', { skiplauncher: true }, false],
  ['--skiplauncher wins over --showgui', { skiplauncher: true, showgui: true }, false],
  ['a click on Windows', { platform: 'win32', environment: {} }, true],
  ['a remote shell on a Mac', { platform: 'darwin', environment: { SSH_CONNECTION: 'x' } }, false],
])('wantsLauncher: %s, %o is %o', (_, own, wanted) => {
  expect(wantsLauncher({ ...desktop, ...own })).toBe(wanted);
});

test('hasDisplay: true with a display', () => {
  expect(hasDisplay({ DISPLAY: ':0' }, 'linux')).toBe(true);
  expect(hasDisplay({}, 'linux')).toBe(false);
  expect(hasDisplay({}, 'darwin')).toBe(true);
  expect(hasDisplay({ SSH_TTY: '/dev/pts/1' }, 'win32')).toBe(false);
});
