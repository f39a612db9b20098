import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** An MCP server whose tools need a token, and the authorization server that gives it, on one port of loopback. */
export async function oauthServer({ denies = false }: { readonly denies?: boolean } = {}) {
  const codes = new Map<string, { readonly challenge: string; readonly redirect: string }>();
  const granted: string[] = [];
  let number = 0;
  let valid = '';
  const issue = (): object => {
    number += 1;
    valid = `token-${number}`;
    return { access_token: valid, token_type: 'Bearer', expires_in: 3600, refresh_token: `refresh-${number}` };
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', base());
    const json = (value: object, status = 200, headers = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
    };
    const body = await bodyOf(request);
    if (url.pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return json({ resource: `${base()}/mcp`, authorization_servers: [base()] });
    }
    if (url.pathname.startsWith('/.well-known/')) {
      return json({
        issuer: base(),
        authorization_endpoint: `${base()}/authorize`,
        token_endpoint: `${base()}/token`,
        registration_endpoint: `${base()}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
        token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      });
    }
    if (url.pathname === '/register') return json({ ...JSON.parse(body), client_id: `client-${++number}` }, 201);
    if (url.pathname === '/authorize') {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('state', url.searchParams.get('state') ?? '');
      if (denies) back.searchParams.set('error', 'access_denied');
      else {
        const code = `code-${++number}`;
        codes.set(code, { challenge: url.searchParams.get('code_challenge') ?? '', redirect: back.origin });
        back.searchParams.set('code', code);
      }
      return void response.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === '/token') {
      const form = new URLSearchParams(body);
      const grant = form.get('grant_type') ?? '';
      granted.push(grant);
      const known = codes.get(form.get('code') ?? '');
      const proof = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const basic = Buffer.from(request.headers.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString();
      const isRight =
        (grant === 'authorization_code' && known?.challenge === proof) ||
        (grant === 'refresh_token' && form.get('refresh_token')?.startsWith('refresh-') === true && !denies) ||
        (grant === 'client_credentials' && basic === 'machine:secret');
      if (isRight) return json(issue());
      const error = grant === 'client_credentials' ? 'invalid_client' : 'invalid_grant';
      return json({ error, error_description: 'Not with these.' }, grant === 'client_credentials' ? 401 : 400);
    }
    if (request.headers.authorization !== `Bearer ${valid}` || valid === '') {
      const metadata = `${base()}/.well-known/oauth-protected-resource/mcp`;
      return json({}, 401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` });
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(body) as { id?: number; method: string; params?: { protocolVersion?: string } };
    if (message.id === undefined) return void response.writeHead(202).end();
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: message.params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'secret', version: '1' },
      },
      'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] },
      ping: {},
    };
    const result = results[message.method];
    json({ jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  function base(): string {
    return `http://127.0.0.1:${port}`;
  }
  return {
    url: `${base()}/mcp`,
    granted,
    /** All tokens so far are no longer valid. */
    expire: () => {
      valid = '';
    },
    deny: () => {
      denies = true;
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
