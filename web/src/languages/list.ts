/** The languages of the pages besides English, each with its own name. */
export const languageNames = {
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  it: 'Italiano',
  pl: 'Polski',
  'pt-BR': 'Português (Brasil)',
  tr: 'Türkçe',
  ru: 'Русский',
  uk: 'Українська',
  ar: 'العربية',
  hi: 'हिन्दी',
  ja: '日本語',
  ko: '한국어',
  'zh-Hans': '简体中文',
  'zh-Hant': '繁體中文',
} as const;

export type Language = keyof typeof languageNames;

/** The locale of dates and numbers: the variety that the browser prefers, such as `en-GB` for `en`. */
export function localeOf(code: string, preferred: readonly string[]): string {
  // Digits that can be compared with those in logs, settings and code.
  if (code === 'ar') return 'ar-u-nu-latn';
  // A script or region of our own choice.
  if (code.includes('-')) return code;
  return preferred.find((tag) => tag.split('-')[0] === code) ?? code;
}
