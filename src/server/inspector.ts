import { flagKeys, isSecret, type Settings } from '../config/flags.ts';
import { conversationEndpoints } from '../inspector/conversations/routes.ts';
import { redacted, redactor } from '../inspector/redact.ts';
import { inspectorEndpoints } from '../inspector/routes.ts';
import type { DialectServices } from '../protocols/dialect.ts';
import { type EndpointShape, type ModelEndpoint, withServices } from '../protocols/endpoint.ts';
import type { ModelContext } from './model-context.ts';
import type { ServerServices } from './services.ts';

/** The endpoints of the translation inspector, and of the report on conversations. */
export function requestEndpoints(
  { settings, admin, inspected, conversations, keys }: ServerServices,
  server: DialectServices,
  rows: () => readonly EndpointShape[],
): ModelEndpoint<ModelContext>[] {
  const secrets = secretsOf(settings, process.env);
  const endpoints = inspectorEndpoints({
    store: inspected,
    access: admin,
    dialects: async () => (await import('./replay-dialects.ts')).replayDialects(server),
    endpoints: rows,
    secrets,
  });
  const hasKeys = keys !== undefined;
  return [
    ...withServices(endpoints, server),
    ...conversationEndpoints({ report: conversations, access: admin, hasKeys, secrets }),
  ];
}

/** The token in an address is an invitation. */
const invitation = /(\/join#)[\w.~-]+/g;

/** Lines of the console without secrets. */
export function logRedactor(settings: Settings): (text: string) => string {
  const redact = redactor(secretsOf(settings, process.env));
  return (text) => String(redact(text)).replace(invitation, `$1${redacted}`);
}

/** Passwords, and the keys of remote backends, which are in environment variables. */
function secretsOf(settings: Settings, environment: NodeJS.ProcessEnv): readonly string[] {
  const values = flagKeys.filter(isSecret).map((key) => settings[key]);
  const remote = JSON.stringify([settings.remote, settings.sdremote]);
  const keys = [...remote.matchAll(/key=env:(\w+)/g)].map(([, name = '']) => environment[name]);
  return [...values, ...keys].filter((value): value is string => typeof value === 'string' && value !== '');
}
