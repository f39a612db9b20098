import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Invitations } from '../keys/invitations.ts';
import { lanCommand } from './lan-command.ts';

const answer = { enabled: true, public: true, addresses: ['192.168.1.5'], unnamed: [], names: [], fingerprint: 'AA' };

/** `answers`: what servers of these addresses say. */
function run(
  args: readonly string[],
  answers: Readonly<Record<string, object>> = { '127.0.0.1': answer },
  hasOtherKeys = false,
) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-lan-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const printed: string[] = [];
  const renewals: unknown[] = [];
  const stored = () =>
    new Invitations({
      path: join(folder, 'invitations.json'),
      keyfile: join(folder, 'keys.json'),
      warn: expect.fail,
      now: () => Date.UTC(2027, 0, 1),
    });
  const code = lanCommand({
    args,
    color: false,
    now: () => Date.UTC(2027, 0, 1),
    terminal: { line: (line = '') => void printed.push(line) },
    keyFile: join(folder, 'keys.json'),
    invitationFile: join(folder, 'invitations.json'),
    fetch: (async (url: string, { body }: RequestInit = {}) => {
      const found = answers[new URL(url).hostname];
      if (!found) throw new TypeError('refused');
      if (url.endsWith('/preview') && !hasOtherKeys)
        return Response.json(await stored().preview(JSON.parse(String(body)).token));
      return Response.json(found);
    }) as typeof fetch,
    lan: {
      addresses: () => ['192.168.1.5'],
      certificate: async () => ({ hosts: ['parley.local', '192.168.1.5'], expires: new Date(Date.UTC(2027, 2, 1)) }),
      renew: async (anew) => renewals.push(anew) > 0,
      facts: () => ({ ...answer, port: 0, isPublic: true, fingerprint: 'BB' }),
    },
  });
  return code.then((status) => ({ status, printed, text: printed.join('\n'), renewals, stored }));
}

describe('parley lan', () => {
  test('shows addresses, the certificate and its end, and how to let a phone in', async () => {
    const { status, text } = await run([]);
    expect(status).toBe(0);
    expect(text).toContain('In your network: http://192.168.1.5:5001/');
    expect(text).toContain('is for parley.local, 192.168.1.5. It ends on 2027-03-01');
    expect(text).toContain('parley lan --new');
    expect(text).not.toContain('/join#');
  });

  test('finds a server that listens on one address only', async () => {
    const { status, text } = await run(['--port', '6001'], { '192.168.1.5': answer });
    expect(status).toBe(0);
    expect(text).toContain('http://192.168.1.5:6001/');
  });

  test('--new: a code for a key without administration', async () => {
    const { status, text } = await run(['--new']);
    expect(status).toBe(0);
    expect(text).toMatch(/█[\s\S]*http:\/\/192\.168\.1\.5:5001\/join#[\w-]{24}[\s\S]*\("Phone"\)/);
  });

  test('--new: no code that the server would refuse, because it has another key file', async () => {
    const { status, text, stored } = await run(['--new'], undefined, true);
    expect(status).toBe(1);
    expect(text).toContain('Name its file with --keyfile.');
    expect(text).not.toContain('/join#');
    expect(await stored().list()).toEqual([]);
  });

  test('--renew: another authority, also while no server runs', async () => {
    const { status, text, renewals } = await run(['--renew'], {});
    expect([status, renewals]).toEqual([0, [true]]);
    expect(text).toContain('Its fingerprint (SHA-256): BB');
  });

  test.each([
    ['no server runs', {}, /^No server answers on port 5001/],
    ['it was started without --lan', { '127.0.0.1': { enabled: false } }, /was started without --lan/],
  ])('says how to start one: %s', async (_, answers, sentence) => {
    const { status, text } = await run([], answers);
    expect(status).toBe(1);
    expect(text).toMatch(sentence);
    expect(text).toContain('parley --lan');
  });

  test.each([[['--port', '0']], [['--port', 'x']], [['more']], [['--name', '']], [['--unknown']]])(
    'shows its usage for %j',
    async (args) => {
      const { status, text } = await run(args);
      expect(status).toBe(2);
      expect(text).toMatch(/^Usage: parley lan/m);
    },
  );
});
