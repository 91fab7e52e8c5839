/** X.509 certificates with ECDSA on P-256: that of an authority, and leaves that it signs. The structures and their DER are the library's. */

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

/** Both as PEM. */
export interface CertifiedKey {
  readonly certificate: string;
  readonly key: string;
}

export interface Period {
  readonly from: Date;
  readonly to: Date;
}

/** One that may sign leaves, and nothing below them. */
export function makeAuthority(commonName: string, period: Period): CertifiedKey {
  const { privateKey, publicKey } = newKeyPair();
  const name = nameOf([
    [organization, 'Skillbox'],
    [common, commonName],
  ]);
  const extensions = [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 }), true),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign), true),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(identifierOf(publicKey))),
  ];
  return certify({ subject: name, issuer: name, publicKey, extensions, period }, privateKey, privateKey);
}

/** For servers of this one host name or address, with a key of its own. */
export function makeLeaf(host: string, authority: CertifiedKey, period: Period): CertifiedKey {
  const { privateKey, publicKey } = newKeyPair();
  const signer = createPrivateKey(authority.key);
  const issuer = AsnConvert.parse(derOf(authority.certificate), Certificate).tbsCertificate.subject;
  const alternative = new GeneralName(isIP(host) ? { iPAddress: host } : { dNSName: host });
  const extensions = [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: false }), true),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), true),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth])),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(identifierOf(publicKey))),
    extension(
      id_ce_authorityKeyIdentifier,
      new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(identifierOf(createPublicKey(signer))) }),
    ),
    // Critical, since the subject is empty: a name of a host can be longer than a common name.
    extension(id_ce_subjectAltName, new SubjectAlternativeName([alternative]), true),
  ];
  return certify({ subject: nameOf([]), issuer, publicKey, extensions, period }, privateKey, signer);
}

interface Parts {
  readonly subject: Name;
  readonly issuer: Name;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Extension[];
  readonly period: Period;
}

const organization = '2.5.4.10';
const common = '2.5.4.3';
const ecdsaWithSha256 = '1.2.840.10045.4.3.2';

function certify({ subject, issuer, publicKey, extensions, period }: Parts, privateKey: KeyObject, signer: KeyObject): CertifiedKey {
  const algorithm = new AlgorithmIdentifier({ algorithm: ecdsaWithSha256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: serial(),
    signature: algorithm,
    issuer,
    validity: new Validity({ notBefore: period.from, notAfter: period.to }),
    subject,
    subjectPublicKeyInfo: AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo),
    extensions: new Extensions([...extensions]),
  });
  const signed = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), signer);
  const certificate = new Certificate({ tbsCertificate, signatureAlgorithm: algorithm, signatureValue: exact(signed) });
  return {
    certificate: pem(Buffer.from(AsnConvert.serialize(certificate))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const newKeyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

const extension = (extnID: string, value: unknown, critical = false): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

const nameOf = (parts: readonly (readonly [string, string])[]): Name =>
  new Name(
    parts.map(
      ([type, text]) =>
        new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) })]),
    ),
  );

/** The usual one: SHA-1 of the key's point (RFC 5280, 4.2.1.2). It identifies; it protects nothing. */
function identifierOf(publicKey: KeyObject): ArrayBuffer {
  const { subjectPublicKey } = AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
  return exact(createHash('sha1').update(Buffer.from(subjectPublicKey)).digest());
}

/** Positive, and never with a leading zero byte, which DER does not allow. */
function serial(): ArrayBuffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return exact(bytes);
}

/** Small buffers of Node share a larger one. */
const exact = (bytes: Buffer): ArrayBuffer => new Uint8Array(bytes).buffer;

const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${(der.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;

const derOf = (text: string): Buffer => Buffer.from(text.replace(/-----[^-]+-----|\s/g, ''), 'base64');
