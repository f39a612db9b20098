import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
let started: Promise<LiveServer> | undefined;
/** One for all tests of this file. */
const server = (): Promise<LiveServer> => {
  started ??= start();
  return started;
};

type Message = string | { readonly role: string; readonly text: string; readonly [field: string]: unknown };

/** A chat of one branch. */
function chatOf(title: string, messages: readonly Message[], fields: object = {}) {
  const turns = messages.map((message, index) => ({
    id: `t${index}`,
    parent: index === 0 ? null : `t${index - 1}`,
    at: index + 1,
    role: index % 2 === 0 ? 'user' : 'assistant',
    ...(typeof message === 'string' ? { text: message } : message),
  }));
  return {
    id: title,
    title,
    titled: true,
    folder: '',
    createdAt: 1,
    changedAt: 1,
    turns: Object.fromEntries(turns.map((turn) => [turn.id, turn])),
    chosen: Object.fromEntries(turns.map(({ id, parent }) => [parent ?? 'root', id])),
    ...fields,
  };
}

/** A page that shows a chat, put into the database of its browser. */
async function chatPage(chat: { readonly id: string }): Promise<Page> {
  const { base } = await server();
  const page = await open(base, { settings: { replyLength: 6 } });
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  await page.evaluate(`new Promise((resolve, reject) => {
    const request = indexedDB.open('parley');
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const transaction = request.result.transaction('chats', 'readwrite');
      transaction.objectStore('chats').put(${JSON.stringify(chat)});
      transaction.oncomplete = () => {
        request.result.close();
        resolve();
      };
    };
  })`);
  // Another address of the same page would not load it anew.
  await page.goto('about:blank');
  await page.goto(`${base}/#/chat/${chat.id}`);
  await page.locator('article').first().waitFor();
  // The keys of the conversation apply outside of fields.
  await page.locator('.scroller').focus();
  return page;
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const articles = (page: Page) => page.locator('article');
const finished = (page: Page) => page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });
/** The text of the current match, and whether it is on the screen. */
const currentMatch = (page: Page) =>
  page.evaluate<unknown>(`{
    const [range] = CSS.highlights.get('found-current') ?? [];
    const { top, bottom } = range?.getBoundingClientRect() ?? {};
    range && { text: range.toString(), shown: top > 0 && bottom < innerHeight };
  }`);
/** A computed style of the first element. */
const styleOf = (page: Page, selector: string, name: string) =>
  page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${name}`);

describe.skipIf(withoutBrowser)('conversation', () => {
  test('a chat that ends with an image opens at its end', async () => {
    const texts = Array.from({ length: 6 }, (_, at) => `Message ${at}. `.repeat(40));
    const page = await chatPage(
      chatOf('pictures', [...texts, 'Draw a square', { role: 'assistant', text: '', drawn: 'a square' }]),
    );
    // An image that is attached without its size, as earlier versions did.
    await page.evaluate(`new Promise((resolve, reject) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 900, height: 900 });
      canvas.toBlob((blob) => {
        const request = indexedDB.open('parley');
        request.onsuccess = () => {
          const transaction = request.result.transaction('chats', 'readwrite');
          const chats = transaction.objectStore('chats');
          chats.get('pictures').onsuccess = ({ target: { result: chat } }) => {
            chat.turns.t7.attachments = [{ id: 'a', kind: 'image', name: 'a square', blob }];
            chats.put(chat);
          };
          transaction.oncomplete = () => resolve(request.result.close());
          transaction.onerror = () => reject(transaction.error);
        };
      });
    })`);
    const address = page.url();
    await page.goto('about:blank');
    await page.goto(address);
    const image = page.getByRole('img', { name: 'a square' });
    await expect
      .poll(() => image.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(900);
    const left = () => page.locator('.scroller').evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight);
    await expect.poll(left).toBeLessThan(10);
    const { y = 0, height = 0 } = (await image.boundingBox()) ?? {};
    expect(y + height).toBeLessThanOrEqual(800);
  });

  test('a line shows where another model answers, and that another one answers next', async () => {
    const reply = (model: string) => ({ role: 'assistant', text: `I am ${model}.`, model });
    const page = await chatPage(
      chatOf('models', ['Who?', reply('alpha'), 'And now?', reply('beta'), 'Still?', reply('beta')]),
    );
    await page.getByText('beta answers from here on').waitFor();
    const lines = page.locator('.scroller p.line');
    await expect
      .poll(() => lines.allInnerTexts())
      .toEqual(['beta answers from here on', 'parley-mini answers from here on']);
    expect(await barriers(page)).toEqual([]);
    const field = page.getByRole('textbox', { name: 'Message', exact: true });
    await field.fill('Hello');
    await field.press('Enter');
    await articles(page).nth(7).waitFor();
    await finished(page);
    // Now above the reply.
    await expect
      .poll(() => lines.allInnerTexts())
      .toEqual(['beta answers from here on', 'parley-mini answers from here on']);
  });

  test('a chat of 2,000 messages: goes to its start and end, and finds text in all of it', async () => {
    const words = 'The quick brown fox jumps over the lazy dog. ';
    const messages = Array.from({ length: 2000 }, (_, at) => `Message ${at}. ${words.repeat(1 + (at % 7))}`);
    messages[3] += 'A *lost* key.';
    messages[1500] += 'The **lost** key again, and a lost key.';
    const page = await chatPage(chatOf('long', messages));
    await page.getByText('Message 1999.').waitFor();
    await page.keyboard.press('Control+Home');
    await page.getByText('Message 0.').waitFor();
    await expect.poll(() => page.locator('.scroller').evaluate(({ scrollTop }) => scrollTop)).toBe(0);
    await page.keyboard.press('Control+End');
    await page.getByText('Message 1999.').waitFor();
    await page.locator('.scroller').evaluate((scroller) => {
      scroller.scrollTop -= 400;
    });
    await page.locator('.jump').getByRole('button', { name: 'Go to the start' }).click();
    await page.getByText('Message 0.').waitFor();

    await page.keyboard.press('Control+f');
    const field = page.getByRole('searchbox', { name: 'Find in chat' });
    await field.fill('lost key');
    await page.getByText('1 of 3').waitFor();
    await expect.poll(() => currentMatch(page)).toEqual({ text: 'lost key', shown: true });
    await field.press('Enter');
    await field.press('Enter');
    await page.getByText('3 of 3').waitFor();
    await page.getByText('Message 1500.').waitFor();
    await expect.poll(() => currentMatch(page)).toEqual({ text: 'lost key', shown: true });
    await expect.poll(() => articles(page).count()).toBeLessThan(100);
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Next match').click();
    await page.getByText('1 of 3').waitFor();
    await field.fill('no such words');
    await page.getByText('No matches').waitFor();
    await field.press('Escape');
    await field.waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('CSS.highlights.size')).toBe(0);
    expect(faults.get(page)).toEqual([]);
  });

  test('a message of 5 MB: is folded, opens in parts, and text at its end is found', async () => {
    const paragraph = `${'The quick brown fox jumps over the lazy dog. '.repeat(20)}\n\n`;
    const text = `${paragraph.repeat(Math.ceil(5_200_000 / paragraph.length))}The lost key.`;
    const page = await chatPage(chatOf('big', [text, 'Read.']));
    await button(page, 'Show all (5.2 MB)').waitFor();
    await page.keyboard.press('Control+f');
    await page.getByRole('searchbox', { name: 'Find in chat' }).fill('lost key');
    await page.getByText('1 of 1').waitFor();
    await expect.poll(() => currentMatch(page)).toEqual({ text: 'lost key', shown: true });
    await page.keyboard.press('Escape');
    await button(page, 'Show earlier part').waitFor();
    // Only a small part of it is in the page.
    await expect
      .poll(() =>
        articles(page)
          .first()
          .evaluate(({ textContent }) => textContent?.length ?? 0),
      )
      .toBeLessThan(100_000);
    await button(page, 'Show less').click();
    await button(page, 'Show all (5.2 MB)').click();
    await button(page, 'Show more').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('deletes one message, makes a new chat from a message, and steps through versions by key', async () => {
    const page = await chatPage(chatOf('talk', ['One?', 'First.', 'Two?', 'Second.']));
    const chosen = async (index: number, name: string): Promise<void> => {
      await articles(page).nth(index).hover();
      await articles(page).nth(index).getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await chosen(1, 'Delete message');
    await expect.poll(() => articles(page).count()).toBe(3);
    await expect.poll(() => articles(page).locator('.text').allInnerTexts()).toEqual(['One?', 'Two?', 'Second.']);
    await button(page, 'Undo').click();
    await expect.poll(() => articles(page).count()).toBe(4);

    await chosen(1, 'New chat from here');
    await expect.poll(() => articles(page).count()).toBe(2);
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toContain('talk (copy)');
    await page.goBack();
    await expect.poll(() => articles(page).count()).toBe(4);

    await page.locator('.scroller').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('2/2').waitFor();
    await finished(page);
    await page.keyboard.press('ArrowLeft');
    await page.getByText('1/2').waitFor();
    await page.getByText('Second.').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('a chat with a character: names, speech, macros, versions of the greeting, sources, summary', async () => {
    const greeting = (id: string, text: string) => ({ id, parent: null, at: 1, role: 'assistant', text, name: 'Vera' });
    const sources = [{ title: 'About bears', url: 'https://example.com/bears', text: 'Bears sleep.' }];
    const chat = chatOf('tale', [{ role: 'assistant', text: '*She nods.* "Hello, stranger."', name: 'Vera' }], {
      characters: ['vera'],
    });
    const turns = { ...chat.turns, g2: greeting('g2', '"Another day."') };
    const page = await chatPage({ ...chat, turns } as typeof chat);
    const vera = page.getByRole('article', { name: 'Vera' });
    await vera.locator('.speech', { hasText: '"Hello, stranger."' }).waitFor();
    const colors = await Promise.all(
      ['.speech', 'em', '.markdown p'].map((selector) => styleOf(page, `article ${selector}`, 'color')),
    );
    expect(new Set(colors).size).toBe(3);
    await page.keyboard.press('ArrowRight');
    await page.getByText('"Another day."').waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByText('"Hello, stranger."').waitFor();
    await expect.poll(() => articles(page).count()).toBe(1);

    const cited = await chatPage(
      chatOf('cited', ['One?', { role: 'assistant', text: 'Yes.', sources }, 'Two?', 'No.'], {
        summary: { text: 'They talked.', upTo: 't1' },
      }),
    );
    await cited.getByText('Messages above are sent as a summary').click();
    await cited.getByText('They talked.').waitFor();
    await button(cited, /About bears/).click();
    await cited.getByText('Bears sleep.').waitFor();
    await expect.poll(() => cited.getByRole('link', { name: /example.com/ }).getAttribute('rel')).toContain('noopener');
    expect(await barriers(cited)).toEqual([]);
    expect([...(faults.get(page) ?? []), ...(faults.get(cited) ?? [])]).toEqual([]);
  });

  test('Markdown: directions, footnotes, diagrams, previews without network', async () => {
    const fence = (language: string, code: string) => `\`\`\`${language}\n${code}\n\`\`\`\n\n`;
    const script = `
      const said = [];
      try { parent.document.title = 'x'; } catch { said.push('isolated'); }
      try { localStorage.x = 1; } catch { said.push('no storage'); }
      fetch('/api/v1/model').catch(() => said.push('no network')).then(() => (out.textContent = said.join(', ')));`;
    const text = [
      'Wet.[^1] Not [^a-z].\n\nשלום עולם\n\n- مرحبا\n- hello\n\n',
      fence('mermaid', 'graph TD;\n  A[Start] --> B[End]'),
      fence('mermaid', 'graph TD;\n  A[[[ broken'),
      fence('svg', '<svg viewBox="0 0 9 9"><rect width="9" height="9"/><script>document.title="x"</script></svg>'),
      fence('html', `<p id="out"></p><script>${script}</script>`),
      '[^1]: The book of water.',
    ].join('');
    const page = await chatPage(chatOf('marks', ['Show me', text]));
    const markdown = articles(page).last().locator('.markdown');
    await markdown.locator('.preview.diagram img').waitFor();
    await markdown.locator('.preview.picture img').waitFor();
    await markdown.getByText(/Cannot draw this diagram: Parse error/).waitFor();
    await markdown.getByText('A[[[ broken').first().waitFor();
    const directions = await page.evaluate(`{
      const blocks = document.querySelectorAll('.assistant .markdown :is(p:not([class]), li)');
      [...blocks].map((block) => getComputedStyle(block).direction);
    }`);
    expect(directions).toEqual(['ltr', 'rtl', 'rtl', 'ltr']);
    await expect.poll(() => styleOf(page, '.markdown pre code', 'fontVariantLigatures')).toBe('none');
    await markdown.getByText('Not [^a-z].').waitFor();
    await button(page, 'Footnote 1').first().click();
    await expect
      .poll(() => page.evaluate(`document.activeElement.closest('.footnote')?.textContent`))
      .toContain('book');
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);

    await button(page, 'Preview').click();
    const preview = page.frameLocator('.preview.page iframe');
    await preview.getByText('isolated, no storage, no network').waitFor();
    expect(await page.title()).not.toBe('x');
  });
});
