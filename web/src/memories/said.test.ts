import { expect, test } from 'vitest';
import { formatsOf } from '../languages/formats.ts';
import { languageNames } from '../languages/list.ts';
import type { Translation } from '../translations/translation.ts';
import { factIn } from './said.ts';
import { texts } from './texts.ts';

test.each([
  ['Remember that my dog is called Rex.', 'My dog is called Rex.'],
  ['Hello! Please remember that I live in Graz. Thanks.', 'I live in Graz.'],
  ["don't forget that I am allergic to nuts", 'I am allergic to nuts'],
  ['Merke dir bitte, dass ich Tee mag.', 'Ich Tee mag.'],
  ['Souviens-toi que je vis à Lyon.', 'Je vis à Lyon.'],
  ['Retiens qu’il aime le thé.', 'Il aime le thé.'],
  ['你好！请记住：我住在格拉茨。谢谢。', '我住在格拉茨。'],
  ['من فضلك، تذكر أنني أعيش في غراتس.', 'أنني أعيش في غراتس.'],
  ['はじめまして。私がグラーツに住んでいることを覚えておいてください。', '私がグラーツに住んでいる'],
  ['제가 서울에 산다는 걸 기억해 주세요.', '제가 서울에 산다'],
])('factIn: %s', (message, fact) => {
  expect(factIn(message)).toBe(fact);
});

test.each([
  'Do you remember that day?',
  'I remember that it rained.',
  'Remember that?',
  'What is new?',
  '记住了，谢谢。',
])('factIn: %s asks for nothing', (message) => {
  expect(factIn(message)).toBeUndefined();
});

/** A sentence with the phrase of the Memory page, the fact in it, and a question with the same words. */
const said: Readonly<Record<string, readonly [sentence: string, fact: string, question: string]>> = {
  en: ['Remember that I live in Graz.', 'I live in Graz.', 'Do you remember that I live in Graz?'],
  de: ['Merke dir, dass ich in Graz wohne.', 'Ich in Graz wohne.', 'Hast du dir gemerkt, dass ich in Graz wohne?'],
  es: ['Recuerda que vivo en Graz.', 'Vivo en Graz.', '¿Recuerda que vivo en Graz?'],
  fr: ['Retiens que je vis à Graz.', 'Je vis à Graz.', 'Est-ce que tu retiens que je vis à Graz ?'],
  it: ['Ricorda che vivo a Graz.', 'Vivo a Graz.', 'Ricorda che vivo a Graz?'],
  pl: ['Zapamiętaj, że mieszkam w Grazu.', 'Mieszkam w Grazu.', 'Czy pamiętasz, że mieszkam w Grazu?'],
  'pt-BR': ['Lembre que moro em Graz.', 'Moro em Graz.', 'Você lembra que moro em Graz?'],
  tr: ['Şunu hatırla: Graz’da yaşıyorum.', 'Graz’da yaşıyorum.', 'Şunu hatırlıyor musun: nerede yaşıyorum?'],
  ru: ['Запомни, что я живу в Граце.', 'Я живу в Граце.', 'Ты запомнил, что я живу в Граце?'],
  uk: ['Запам’ятай, що я живу в Граці.', 'Я живу в Граці.', 'Ти запам’ятав, що я живу в Граці?'],
  ar: ['تذكّر أن كلبي اسمه ريكس.', 'كلبي اسمه ريكس.', 'هل تتذكّر أن كلبي اسمه ريكس؟'],
  hi: ['याद रखो कि मैं ग्राज़ में रहता हूँ।', 'मैं ग्राज़ में रहता हूँ।', 'क्या तुम्हें याद है कि मैं कहाँ रहता हूँ?'],
  ja: ['私の犬の名前がレックスだということを覚えて。', '私の犬の名前がレックスだ', '私の犬の名前を覚えていますか？'],
  ko: ['우리 개 이름이 렉스라는 것을 기억해.', '우리 개 이름이 렉스', '우리 개 이름을 기억해?'],
  'zh-Hans': ['记住我的狗叫 Rex。', '我的狗叫 Rex。', '你记住我的狗叫什么了吗？'],
  'zh-Hant': ['記住我的狗叫 Rex。', '我的狗叫 Rex。', '你記住我的狗叫什麼了嗎？'],
};

test.each(['en', ...Object.keys(languageNames)])('factIn: %s, the phrase that the Memory page names', async (code) => {
  const [sentence = '', fact = '', question = ''] = said[code] ?? [];
  expect(factIn(sentence)).toBe(fact);
  expect(factIn(question)).toBeUndefined();
  const empty = code === 'en' ? texts.empty : ((await translationOf(code)).memories?.empty ?? '');
  const [, before = '', after = ''] = /[“„«「]\s*([^“„«「]*?)\s*…+\s*(.*?)\s*[”“»」]/.exec(empty) ?? [];
  expect(before + after).not.toBe('');
  expect(sentence.startsWith(before)).toBe(true);
  expect(sentence).toContain(after);
});

async function translationOf(code: string): Promise<Translation> {
  const file = await import(`../translations/${code}.ts`);
  return file.default(formatsOf(code));
}
