import assert from 'node:assert/strict';
import { type Ini, readIni } from '../../../packages/boot-images/src/aws/credentials.ts';
import { readXml, type XmlElement, XmlInvalid } from '../../../packages/boot-images/src/aws/xml.ts';
import { type Format, growing, type Hostile, pieces, SECRET } from '../format.ts';

const written = ({ name, children, text }: XmlElement): string =>
  `<${name}>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}${children.map(written).join('')}</${name}>`;

/** Answers of EC2 and of the security token service. */
export const awsAnswers: Format<XmlElement> = {
  name: 'answers of AWS',
  examples: [
    '<?xml version="1.0" encoding="UTF-8"?>\n<R xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><imagesSet><item><name>a &lt;&#233;&#x1F4A5;</name><description/></item><item/></imagesSet></R>',
    `<ErrorResponse><!-- a --><Error><Code>AccessDenied</Code><Message><![CDATA[<${SECRET}>]]></Message></Error></ErrorResponse>`,
  ],
  pieces: [
    '<',
    '>',
    '</',
    '/>',
    '&',
    ';',
    '&amp;',
    '&#0;',
    '<![CDATA[',
    ']]>',
    '<!--',
    '-->',
    '<?',
    '<!DOCTYPE a>',
    ' a="b"',
    '"',
  ],
  nest: ['<item>', '</item>'],
  read: (bytes) => readXml(bytes.toString()),
  refuses: (error) => error instanceof XmlInvalid,
  check: (root) => assert.deepEqual(readXml(written(root)), root),
};

/** Files of credentials. */
export const awsProfiles: Format<Ini> = {
  name: 'profiles of AWS',
  examples: [
    `[default]\nrole_arn = arn:aws:iam::123456789012:role/a\nsource_profile=base\n# a comment\n[profile base]\naws_access_key_id = AKIA\naws_secret_access_key = ${SECRET}\n`,
    '[default]\r\nweb_identity_token_file = /var/run/secrets/token\r\ns3 =\r\n  max = 1\r\n',
  ],
  pieces: ['[', ']', '[default]', '=', '\n', '\r\n', '#', ';', ' ', 'role_arn', 'profile '],
  nest: ['[', ']'],
  read: (bytes) => readIni(bytes.toString()),
  takesAll: true,
  refuses: () => false,
  check: (file) => {
    for (const [name, settings] of file)
      for (const [key, value] of settings)
        assert.ok(name === name.trim() && key !== '' && key === key.trim().toLowerCase() && value === value.trim());
  },
};

const profiles: Readonly<Record<string, (size: number) => string>> = {
  'sections that are all different': (size) => pieces(size, (n) => `[${n}]\n`),
  'settings that are all different': (size) => `[a]\n${pieces(size, (n) => `k${n}=v\n`)}`,
  'one line of brackets': (size) => '['.repeat(size),
  'blanks without an end': (size) => `[a${' '.repeat(size)}`,
  'a profile of blanks': (size) => `[profile${' '.repeat(size)}]`,
};

export const awsGrowth: readonly Hostile[] = growing('profiles of AWS', profiles, {
  limit: 1 << 20,
  read: (text) => readIni(text),
});
