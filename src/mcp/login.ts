import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { unlessAborted } from '../core/abort.ts';
import { deferred } from '../core/synchronization.ts';
import type { LoginFile } from './logins.ts';
import { type AddressConfig, freshLogin } from './oauth.ts';

interface LoginOptions {
  readonly config: AddressConfig;
  readonly logins: LoginFile;
  readonly product: { readonly name: string; readonly version: string };
  /** Shows the address of the login page to a person. */
  readonly show: (url: URL) => void;
  readonly signal: AbortSignal;
}

/** Logs in to an MCP server with a person at a browser. Throws a sentence if that fails. */
export async function logIn({ config, logins, product, show, signal }: LoginOptions): Promise<'done' | 'not-needed'> {
  const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await import('@modelcontextprotocol/client');
  const redirect = await listenForRedirect();
  const { state, provider } = freshLogin({ config, logins, product: product.name }, redirect.url, show);
  const requestInit = { headers: { ...config.headers } };
  const transport = new StreamableHTTPClientTransport(new URL(config.url), { authProvider: provider, requestInit });
  const client = new Client({ name: product.name.toLowerCase(), version: product.version });
  try {
    await unlessAborted(client.connect(transport), signal);
    return 'not-needed';
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw new Error(sentenceOf(error, config.name), { cause: error });
    const answer = await unlessAborted(redirect.answer, signal);
    refuseBadAnswer(answer, state, config.name);
    await transport.finishAuth(answer).catch((cause: unknown) => {
      throw new Error(sentenceOf(cause, config.name), { cause });
    });
    return 'done';
  } finally {
    redirect.close();
    await client.close().catch(() => undefined);
  }
}

function refuseBadAnswer(answer: URLSearchParams, state: string, name: string): void {
  const error = answer.get('error');
  if (error !== null) {
    const why = (answer.get('error_description') ?? error).slice(0, 300);
    throw new Error(`The login to ${name} was refused: ${why}. Run the command again to try once more.`);
  }
  if (answer.get('state') !== state) {
    throw new Error(`The answer does not belong to this login to ${name}. Run the command again, and use its address.`);
  }
}

function sentenceOf(error: unknown, name: string): string {
  const { message } = error as Error;
  return `The login to ${name} failed: ${message.replace(/\.$/, '')}. Check its address in the file, or set "oauth" there.`;
}

/** The end of the login: the browser is sent to an address of this program. */
async function listenForRedirect() {
  const answer = deferred<URLSearchParams>();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (pathname !== '/callback') return void response.writeHead(404).end();
    const text = searchParams.has('error') ? 'The login was refused.' : 'You are logged in. You can close this page.';
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(text);
    answer.resolve(searchParams);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/callback`, answer: answer.promise, close: () => void server.close() };
}
