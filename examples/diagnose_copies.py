"""Say what is wrong with three copies of an image, where and how strongly.

Run it with ``python examples/diagnose_copies.py``.
"""

import llise

reference = llise.datasets.reference()[128:384, 128:384]
noisy = llise.distortions.apply(reference, "gaussian_noise", mse=150, random_state=1)
two_faults = llise.distortions.apply(reference, "jpeg", mse=60).copy()
two_faults[:96, :96] = noisy[:96, :96]
copies = [reference, llise.distortions.apply(reference, "blur", mse=120), two_faults]

for diagnosis in llise.diagnose(reference, copies):
    print(f"{' + '.join(diagnosis.verdict)}: PSNR {diagnosis.psnr:.1f} dB, SSIM {diagnosis.ssim:.3f}")
    for fault in diagnosis.faults:
        print(f"  {' + '.join(fault.kinds)} in {fault.area:.0%} of the picture, confidence {fault.confidence:.2f}")
        for kind, settings in fault.estimate.items():
            for name, (value, low, high) in settings.items():
                print(f"    {kind} {name} {value:.1f}, with a probability of 90 % between {low:.1f} and {high:.1f}")
