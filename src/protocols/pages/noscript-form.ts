import { clamp } from '../fields/readers.ts';
import { html, type Markup } from './html.ts';

/** What was written in the form, or what it begins with. */
export interface Asked {
  readonly kind: 'question' | 'story';
  /** The story so far, or the question. */
  readonly text: string;
  /** What was said before, question and answer by turns. */
  readonly turns: readonly string[];
  readonly maxLength: number;
  readonly temperature: number;
  readonly topP: number;
}

const usual: Asked = { kind: 'question', text: '', turns: [], maxLength: 200, temperature: 0.7, topP: 0.9 };
const limits = { maxLength: 4096, temperature: 5, turns: 200 };

/** Whatever is missing or no number in it is as usual: nobody is to be refused for a form that a browser sent. */
export function readForm(fields: URLSearchParams): Asked {
  const turns = fields.getAll('turn').slice(-limits.turns);
  return {
    kind: fields.get('kind') === 'story' ? 'story' : 'question',
    text: lines(fields.get('text') ?? ''),
    // A question without its answer is none.
    turns: turns.slice(turns.length % 2).map(lines),
    maxLength: Math.trunc(number(fields.get('max_length'), usual.maxLength, 1, limits.maxLength)),
    temperature: number(fields.get('temperature'), usual.temperature, 0, limits.temperature),
    topP: number(fields.get('top_p'), usual.topP, 0, 1),
  };
}

/** The prompt with marks where the turns begin, which the server replaces by those of the model. */
export function promptOf({ kind, text, turns }: Asked): string {
  if (kind === 'story') return text;
  const said = turns.map((turn, index) => `${index % 2 === 0 ? '{{[INPUT]}}' : '{{[OUTPUT]}}'}${turn}`);
  return `${said.join('')}{{[INPUT]}}${text}{{[OUTPUT]}}`;
}

/** What to ask next: a story goes on where it stopped, a conversation waits for the next question. */
export function goingOn(asked: Asked, reply: string): Asked {
  if (asked.kind === 'story') return { ...asked, text: asked.text + reply };
  return { ...asked, text: '', turns: [...asked.turns, asked.text, reply.trim()] };
}

export function formMarkup(asked: Asked): Markup {
  const story = asked.kind === 'story';
  const next = asked.turns.length > 0 && !story;
  return html`<section aria-labelledby="ask-title">
<h2 id="ask-title">${next ? 'Ask on' : 'Write something'}</h2>
<form method="post" action="noscript" accept-charset="utf-8">
${asked.turns.map((turn) => html`<input type="hidden" name="turn" value="${turn}">`)}
<label for="text">Text</label>
<textarea id="text" name="text" rows="${story ? 14 : 5}" required>
${asked.text}</textarea>
<fieldset>
<legend>What is it?</legend>
${choice('question', 'A question, to be answered', !story)}
${choice('story', 'A story, to be continued', story)}
</fieldset>
<div class="settings">
${numberField('max_length', 'Reply length', { value: asked.maxLength, min: 1, max: limits.maxLength, step: 1 })}
${numberField('temperature', 'Temperature', { value: asked.temperature, min: 0, max: limits.temperature, step: 0.05 })}
${numberField('top_p', 'Top P', { value: asked.topP, min: 0, max: 1, step: 0.01 })}
</div>
<p class="buttons"><button type="submit">Send</button></p>
</form>
${next ? html`<p><a href="noscript">New conversation</a></p>` : ''}
</section>`;
}

function choice(value: Asked['kind'], label: string, checked: boolean): Markup {
  const mark = checked
    ? html`<input type="radio" name="kind" value="${value}" checked>`
    : html`<input type="radio" name="kind" value="${value}">`;
  return html`<label class="choice">${mark} ${label}</label>`;
}

interface Range {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
}

function numberField(name: string, label: string, { value, min, max, step }: Range): Markup {
  return html`<label>${label} <input type="number" name="${name}" min="${min}" max="${max}" step="${step}" value="${value}" required></label>`;
}

function number(text: string | null, usually: number, least: number, most: number): number {
  const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? clamp(value, least, most) : usually;
}

/** Browsers send the ends of lines of a form as two characters. */
function lines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
