/** The JSON encoding of OTLP traces: https://opentelemetry.io/docs/specs/otlp/ */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code: number; readonly message?: string };
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: object;
}

export const spanKinds = { internal: 1, server: 2 } as const;
export const statusCodes = { unset: 0, error: 2 } as const;

export type AttributeValue = string | number | boolean | readonly string[];

/** Attributes without a value are left out. */
export function otlpAttributes(values: Readonly<Record<string, AttributeValue | undefined>>): OtlpAttribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: otlpValue(value) }],
  );
}

function otlpValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  // Whole numbers of 64 bits are texts in JSON.
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}

/** Nanoseconds since 1970, which a number cannot hold, of milliseconds with a fraction. */
export function unixNano(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  const rest = Math.min(999_999, Math.round((milliseconds - whole) * 1e6));
  return `${whole}${String(rest).padStart(6, '0')}`;
}

export interface TraceResource {
  readonly service: string;
  readonly version: string;
}

/** The body of one export. */
export function exportBody(spans: readonly OtlpSpan[], { service, version }: TraceResource): string {
  const resource = { attributes: otlpAttributes({ 'service.name': service, 'service.version': version }) };
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'parley', version }, spans }] }] });
}
