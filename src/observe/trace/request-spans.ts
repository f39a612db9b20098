import type { ExchangeRecord, Phase } from '../exchange-record.ts';
import { type AttributeValue, type OtlpSpan, otlpAttributes, spanKinds, statusCodes, unixNano } from './otlp.ts';
import { type NewTraceId, readTraceparent } from './trace-context.ts';

type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** The span of a request and those of its phases; none if its trace is not recorded. */
export function requestSpans(record: ExchangeRecord, newId: NewTraceId): readonly OtlpSpan[] {
  const context = readTraceparent(record.traceparent);
  if (!context?.sampled) return [];
  const { traceId, spanId } = context;
  const { head, startedAt } = record;
  const parent = readTraceparent(head.headers.traceparent);
  const at = (milliseconds: number) => unixNano(startedAt + milliseconds);
  const request: OtlpSpan = {
    traceId,
    spanId,
    ...(parent ? { parentSpanId: parent.spanId } : {}),
    name: head.endpoint === '' ? knownMethod(head.method) : `${knownMethod(head.method)} ${head.endpoint}`,
    kind: spanKinds.server,
    startTimeUnixNano: at(0),
    endTimeUnixNano: at(record.totalMs),
    attributes: otlpAttributes({ ...httpAttributes(record), ...genAiTotals(record) }),
    // By the conventions, a client error is not a server error.
    status: record.broken
      ? { code: statusCodes.error, ...(record.error ? { message: record.error.message } : {}) }
      : { code: statusCodes.unset },
  };
  const phases = record.phases.map((phase): OtlpSpan => {
    const { error } = phase;
    return {
      traceId,
      spanId: newId(8),
      parentSpanId: spanId,
      name: phase.kind === undefined || phase.kind === 'text' ? phase.name : `${phase.name} ${phase.kind}`,
      kind: spanKinds.internal,
      startTimeUnixNano: at(phase.from),
      endTimeUnixNano: at(phase.to),
      attributes: otlpAttributes(phaseAttributes(record, phase)),
      status: error ? { code: statusCodes.error, message: error.message } : { code: statusCodes.unset },
    };
  });
  return [request, ...phases];
}

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']);

function knownMethod(method: string): string {
  return methods.has(method) ? method : 'HTTP';
}

function httpAttributes({ head, status, outcome, error, key }: ExchangeRecord): Attributes {
  return {
    'http.request.method': methods.has(head.method) ? head.method : '_OTHER',
    'http.route': head.endpoint || undefined,
    'http.response.status_code': status,
    'url.path': head.path,
    'client.address': head.remoteAddress,
    'error.type': error?.code ?? (outcome === 'failed' ? String(status) : outcome === 'done' ? undefined : outcome),
    'parley.request_id': head.id,
    'parley.family': head.family || undefined,
    'parley.outcome': outcome,
    'parley.key': key,
  };
}

/** Tokens of all generations of the request. */
function genAiTotals(record: ExchangeRecord): Attributes {
  const { totals, model, kinds, firstTokenMs } = record;
  if (kinds.length === 0) return {};
  return {
    ...genAi(record, kinds[0] ?? 'text', model),
    ...(totals.generations > 0 && {
      'gen_ai.usage.input_tokens': totals.promptTokens,
      'gen_ai.usage.output_tokens': totals.completionTokens,
      'gen_ai.response.finish_reasons': record.finishReasons,
    }),
    'parley.first_token_ms': firstTokenMs,
  };
}

function phaseAttributes(record: ExchangeRecord, { name, kind = 'text', model, finish, error }: Phase): Attributes {
  if (name === 'body' || name === 'queue') return {};
  const failed = { 'error.type': error?.code };
  if (name === 'load') return { 'parley.model': model, 'parley.engine': kind, ...failed };
  if (name !== 'generation') return { ...genAi(record, kind, model), ...failed };
  const { maxTokens, sampling } = record.request ?? {};
  return {
    ...genAi(record, kind, model),
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.request.temperature': sampling?.temperature,
    ...(finish && {
      'gen_ai.usage.input_tokens': finish.usage.promptTokens,
      'gen_ai.usage.output_tokens': finish.usage.completionTokens,
      'gen_ai.response.finish_reasons': [finish.reason],
      'parley.cached_tokens': finish.usage.cachedTokens,
    }),
    ...failed,
  };
}

function genAi({ head }: ExchangeRecord, kind: string, model: string | undefined): Attributes {
  return {
    'gen_ai.system': 'parley',
    'gen_ai.provider.name': 'parley',
    'gen_ai.operation.name': operationOf(kind, head.endpoint),
    'gen_ai.request.model': model,
  };
}

/** The names of the conventions where they have one; others are allowed. */
function operationOf(kind: string, endpoint: string): string {
  if (kind === 'text') return /chat|messages|responses/.test(endpoint) ? 'chat' : 'text_completion';
  return kind === 'embedding' || kind === 'embeddings' ? 'embeddings' : kind;
}
