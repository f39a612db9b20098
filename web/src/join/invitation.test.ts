import { expect, test, vi } from 'vitest';
import { fakePage } from '../testing/page.ts';

/** A browser with the link `right`; `status`: how the server answers it, `sends`: whether it gets the cookie afterwards. */
function browser({ cookieEnabled = true, status = 200, sends = true }) {
  const page = fakePage({
    'api/extra/join': () => Response.json({}, { status }),
    'api/extra/join/preview': () => ({ name: 'Anna', state: 'open' }),
    'api/extra/session': () => ({ type: sends ? 'key' : null }),
  });
  vi.stubGlobal('navigator', { cookieEnabled });
  return page;
}

const join = async (): Promise<unknown> => (await import('./invitation.ts')).join('right');

test('join: where the browser blocks cookies, the link is not used', async () => {
  const page = browser({ cookieEnabled: false });
  expect(await join()).toBe('cookies');
  expect(page.requests).toEqual([]);
});

test('join: a page that the server takes for a foreign one is not told that the link is unknown', async () => {
  browser({ status: 403 });
  expect(await join()).toBe('cookies');
});

test('join: signed in only if the server gets the cookie', async () => {
  browser({});
  expect(await join()).toBeUndefined();
  browser({ sends: false });
  expect(await join()).toBe('cookies');
});
