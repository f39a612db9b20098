import { jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { readFields } from '../fields/table.ts';
import { parseInfotext } from '../pictures/infotext.ts';
import { pictureTexts } from '../pictures/picture-facts.ts';
import { pngInfoFields } from './fields.ts';

/** What stands in a picture about how it was made. */
export async function pngInfo(call: Call): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'refuse', signal: call.signal });
  const { parameters: info = '', ...items } = pictureTexts(readFields(pngInfoFields, body).image.bytes);
  return json({ info, items, parameters: info === '' ? {} : parseInfotext(info) });
}
