import { expect, test } from 'vitest';
import type { ServerConfig } from './config.ts';
import { logIn } from './login.ts';
import { LoginFile } from './logins.ts';
import type { AddressConfig } from './oauth.ts';
import { sdkSessions } from './sdk-session.ts';
import { oauthServer } from './testing/oauth-server.ts';

const never = new AbortController().signal;
const product = { name: 'Parley', version: '1' };
const events = {
  lost: () => undefined,
  toolsChanged: () => undefined,
  transportFailed: () => undefined,
  log: () => undefined,
};

function memory() {
  let content: string | undefined;
  const logins = new LoginFile({
    read: async () => content,
    write: async (text) => {
      content = text;
    },
    exclusively: (change) => change(),
  });
  return { logins, content: () => content ?? '' };
}

const configOf = (url: string, own: Partial<AddressConfig> = {}): AddressConfig => ({
  type: 'address',
  name: 'secret',
  url,
  headers: {},
  sse: false,
  ...own,
});

/** Opens the login page as a browser does, and follows the redirect. */
const browser = (url: URL): void => void fetch(url);

async function toolsOf(config: ServerConfig, logins: LoginFile): Promise<readonly string[]> {
  const guard = { add: () => undefined, end: () => undefined };
  const session = await sdkSessions({ product, environment: {}, guard, logins })(config, events, never);
  const tools = await session.tools();
  await session.close();
  return tools.map(({ name }) => name);
}

test('MCP login: registers, logs in with PKCE, and the tokens open sessions', async () => {
  const server = await oauthServer();
  const { logins, content } = memory();
  const config = configOf(server.url);
  await expect(toolsOf(config, logins)).rejects.toThrow('it needs a login: run "parley mcp login secret"');
  expect(await logIn({ config, logins, product, show: browser, signal: never })).toBe('done');
  expect(server.granted).toEqual(['authorization_code']);
  expect(await toolsOf(config, logins)).toEqual(['whoami']);
  const issuer = new URL(server.url).origin;
  const { servers } = JSON.parse(content());
  expect(Object.keys(servers[server.url])).toEqual([issuer]);
  expect(await logIn({ config, logins, product, show: browser, signal: never })).toBe('done');
});

test('MCP login: expired tokens are refreshed, and a refused refresh asks for a new login', async () => {
  const server = await oauthServer();
  const { logins } = memory();
  const config = configOf(server.url);
  await logIn({ config, logins, product, show: browser, signal: never });
  server.expire();
  expect(await toolsOf(config, logins)).toEqual(['whoami']);
  expect(server.granted).toEqual(['authorization_code', 'refresh_token']);
  server.expire();
  server.deny();
  await expect(toolsOf(config, logins)).rejects.toThrow('parley mcp login secret');
});

test('MCP login: a refused login and an answer to another login are plain sentences', async () => {
  const { logins, content } = memory();
  const denied = configOf((await oauthServer({ denies: true })).url);
  await expect(logIn({ config: denied, logins, product, show: browser, signal: never })).rejects.toThrow(
    'The login to secret was refused: access_denied. Run the command again to try once more.',
  );
  const config = configOf((await oauthServer()).url);
  const forged = (url: URL): void => void fetch(`${url.searchParams.get('redirect_uri')}?code=stolen&state=other`);
  await expect(logIn({ config, logins, product, show: forged, signal: never })).rejects.toThrow(
    'does not belong to this login',
  );
  expect(content()).not.toContain('access_token');
});

test('MCP login: client credentials of the file need no person', async () => {
  const server = await oauthServer();
  const { logins, content } = memory();
  const issuer = new URL(server.url).origin;
  const oauth = { grant: 'client_credentials', clientId: 'machine', clientSecret: 'secret', issuer } as const;
  expect(await toolsOf(configOf(server.url, { oauth }), logins)).toEqual(['whoami']);
  expect(server.granted).toEqual(['client_credentials']);
  expect(content()).toBe('');
  const wrong = configOf(server.url, { oauth: { ...oauth, clientSecret: 'other' } });
  await expect(toolsOf(wrong, logins)).rejects.toThrow(/login was refused.*"oauth"/);
});
