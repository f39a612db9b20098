import { type Formats, formatsOf } from './formats.ts';
import { localeOf } from './list.ts';
import { type Texts, translate } from './translate.ts';

/** What the file of a language makes of its formats: a `Translation`, whose type only these files need. */
type TranslationFile = (formats: Formats) => object;

/** Tests and workers have no document. */
const {
  document: page,
  navigator: browser,
  parleyTranslation,
} = globalThis as {
  readonly document?: { readonly documentElement: { lang: string; dir: string } };
  readonly navigator?: { readonly languages?: readonly string[] };
  /** Left by the file of the language, which theme.js loads before all modules of a page (see web/languages-plugin.ts). */
  readonly parleyTranslation?: TranslationFile;
};

/** The language of the page: English where the file of another one could not be fetched. */
export const language = (parleyTranslation && page?.documentElement.lang) || 'en';
if (page && page.documentElement.lang !== language) Object.assign(page.documentElement, { lang: language, dir: 'ltr' });

/** 1 where lines run from left to right, else -1. */
export const forward = page?.documentElement.dir === 'rtl' ? -1 : 1;

/** The language as `Intl` wants it, with the region that the browser prefers. */
export const locale = localeOf(language, browser?.languages ?? []);
export const formats = formatsOf(locale);
export const { plural, ordinal, number, compact, percent, list, date, time, ago, byteSize, languageName } = formats;

const translation = parleyTranslation?.(formats) as Readonly<Record<string, unknown>> | undefined;

/** The translation of a sentence that the server sends in English, by its key. */
export function translationOf(area: string, key: string): string | undefined {
  return (translation?.[area] as Readonly<Record<string, string>> | undefined)?.[key];
}

/** The texts of a folder in the language of the page; `area` is their name in the files of the languages. */
export function translatable<const English extends object>(area: string, english: English): Texts<English> {
  return (translation ? translate(english, translation[area]) : english) as Texts<English>;
}
