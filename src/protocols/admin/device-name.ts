/** The first that occurs counts: most browsers name several. */
const browsers = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** `Chrome, Android`: what a browser says of itself. A program is named by its first word. */
export function deviceName(userAgent: string): string {
  const named = (known: readonly (readonly [string, string])[]) =>
    known.find(([word]) => userAgent.includes(word))?.[1];
  const names = [named(browsers), named(systems)].filter((name) => name !== undefined);
  if (names.length > 0) return names.join(', ');
  return /^[\w.-]{1,40}/.exec(userAgent)?.[0] ?? '';
}
