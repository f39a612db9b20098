import { randomBytes } from 'node:crypto';
import type {
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import type { ServerConfig } from './config.ts';
import type { LoginFile } from './logins.ts';

export type AddressConfig = ServerConfig & { readonly type: 'address' };

/** What to do when an MCP server wants a login. */
export function loginHint(name: string): string {
  return `it needs a login: run "parley mcp login ${name}"`;
}

interface ProviderDeps {
  readonly config: AddressConfig;
  readonly logins: LoginFile;
  readonly product: string;
}

/** Tokens of an earlier login, which are refreshed as needed. A login that needs a person is an error. */
export function storedLogin({ config, logins, product }: ProviderDeps): OAuthClientProvider {
  return provider({ config, logins, product }, { redirectUrl: 'http://127.0.0.1/callback' });
}

/** A login with a person, for which this program registers itself anew: its redirect has a port of its own. */
export function freshLogin(deps: ProviderDeps, redirectUrl: string, redirect: (url: URL) => void) {
  const state = randomBytes(24).toString('base64url');
  return { state, provider: provider(deps, { redirectUrl, fresh: { state, redirect } }) };
}

interface Mode {
  readonly redirectUrl: string;
  readonly fresh?: { readonly state: string; readonly redirect: (url: URL) => void };
}

function provider({ config, logins, product }: ProviderDeps, { redirectUrl, fresh }: Mode): OAuthClientProvider {
  const { url, name, oauth } = config;
  let verifier = '';
  let client: StoredOAuthClientInformation | undefined;
  return {
    redirectUrl,
    clientMetadata: {
      client_name: product,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...(oauth?.scope !== undefined && { scope: oauth.scope }),
    },
    ...(fresh && { state: () => fresh.state }),
    clientInformation: async (context) => {
      if (oauth?.clientId !== undefined) {
        return {
          client_id: oauth.clientId,
          ...(oauth.clientSecret !== undefined && { client_secret: oauth.clientSecret }),
        };
      }
      if (fresh || !context) return client;
      return (await logins.get(url, context.issuer)).client as StoredOAuthClientInformation | undefined;
    },
    saveClientInformation: async (information, context) => {
      client = information;
      if (context) await logins.set(url, context.issuer, { client: { ...information } });
    },
    tokens: async (context) => {
      if (fresh) return undefined;
      const { tokens } = context ? await logins.get(url, context.issuer) : { tokens: await logins.latestTokens(url) };
      return tokens as StoredOAuthTokens | undefined;
    },
    saveTokens: async (tokens, context) => {
      if (context) await logins.set(url, context.issuer, { tokens: { ...tokens } });
    },
    redirectToAuthorization: (target) => {
      if (!fresh) throw new Error(loginHint(name));
      fresh.redirect(target);
    },
    saveCodeVerifier: (value) => {
      verifier = value;
    },
    codeVerifier: () => verifier,
    invalidateCredentials: async (scope) => {
      if (scope === 'all' || scope === 'tokens' || scope === 'client') await logins.remove(url);
    },
  };
}
