/** A value as JSON shows it, with limits: large texts are cut and binary data is only described. */
export function preview(value: unknown, limit: number): unknown {
  let left = limit;
  const text = (whole: string): string => {
    const beginning = whole.slice(0, Math.max(0, left));
    left -= beginning.length;
    return beginning.length === whole.length ? whole : `${beginning}… (cut: ${whole.length} characters)`;
  };
  const copy = (one: unknown, depth: number): unknown => {
    left -= 8;
    if (typeof one === 'string') return text(one);
    if (typeof one === 'number' && !Number.isFinite(one)) return String(one);
    if (typeof one === 'bigint' || typeof one === 'symbol' || typeof one === 'function') return String(typeof one);
    if (typeof one !== 'object' || one === null) return one;
    if (ArrayBuffer.isView(one)) return `(${one.byteLength} bytes)`;
    if (one instanceof Error) return { message: one.message, ...('code' in one && { code: one.code }) };
    if (depth > 60) return '(too deep)';
    if (Array.isArray(one)) {
      const entries: unknown[] = [];
      for (const entry of one) {
        if (left <= 0) return [...entries, `… (cut: ${one.length} entries)`];
        entries.push(copy(entry, depth + 1));
      }
      return entries;
    }
    const members: [name: string, value: unknown][] = [];
    for (const [name, entry] of Object.entries(one)) {
      if (left <= 0) {
        members.push(['…', '(cut)']);
        break;
      }
      if (entry !== undefined && typeof entry !== 'function') members.push([name, copy(entry, depth + 1)]);
      left -= name.length;
    }
    // A member may be called `__proto__`.
    return Object.fromEntries(members);
  };
  return copy(value, 0);
}
