import { createHash } from 'node:crypto';

/** The same for the same content, in whatever order its fields stand; fields without a value do not count. */
export function fingerprint(content: unknown): string {
  return createHash('sha256').update(canonical(content)).digest('base64url');
}

function canonical(content: unknown): string {
  return JSON.stringify(content, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
